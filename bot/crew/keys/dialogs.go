package keys

import (
	"encoding/json"
	"slices"
	"sync"
	"time"

	"github.com/agentmux/agentmux/internal/durable"
)

// maxPresses is how often the key of a dialog is pressed while the screen shows no effect.
const maxPresses = 3

// File is where the directory of a launch says which dialogs were answered.
const File = "pressed"

// Dialogs remembers which known dialogs were answered, by launch and text. An answered dialog is not answered a second
// time: its text may stay on the screen or be part of what an agent prints, and the key would go to something else. What
// an earlier host pressed counts, too. The zero value is ready.
type Dialogs struct {
	mu       sync.Mutex
	launches map[string]*pressed // by directory
}

// pressed is what File holds, and what only this host knows.
type pressed struct {
	Answers map[string]int `json:"answers,omitempty"` // how often the answer to a question was pressed
	Dialogs []string       `json:"dialogs"`           // their texts
	Started bool           `json:"started"`           // the program has come to its prompt: no dialog of its start is left

	tries map[string]try
	shown time.Time // when a dialog for a person was seen last
}

type try struct {
	screen string // when the key was last pressed
	n      int
}

// of returns what is known of a launch. The caller holds the lock.
func (d *Dialogs) of(dir string) *pressed {
	if p := d.launches[dir]; p != nil {
		return p
	}
	p := &pressed{tries: map[string]try{}}
	if data, err := durable.ReadRegular(dir, File, 1<<16); err == nil {
		_ = json.Unmarshal(data, p) // of a file that holds something else nothing is known
	}
	for _, text := range p.Dialogs {
		p.tries[text] = try{n: maxPresses} // on another host's screen
	}
	if d.launches == nil {
		d.launches = map[string]*pressed{}
	}
	d.launches[dir] = p
	return p
}

// Open reports whether to press the key of a dialog on the screen: once, and a few more times while the screen does not
// change, because a program that is still starting may lose the key.
func (d *Dialogs) Open(dir, text, screen string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	p := d.of(dir)
	t, answered := p.tries[text]
	if answered && t.n > 0 && t.screen != screen {
		t.n = maxPresses
		p.tries[text] = t
	}
	return !p.Started && t.n < maxPresses
}

// Press notes a key before press presses it: a host that is killed meanwhile does not know what came of it, and the next
// one does not press it again. A key that was not pressed does not count.
func (d *Dialogs) Press(dir, text, screen string, press func() bool) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	p := d.of(dir)
	first := !slices.Contains(p.Dialogs, text)
	if first {
		p.Dialogs = append(p.Dialogs, text)
		if err := p.write(dir); err != nil {
			p.Dialogs = p.Dialogs[:len(p.Dialogs)-1]
			return err
		}
	}
	if press() {
		p.tries[text] = try{screen: screen, n: p.tries[text].n + 1}
		return nil
	}
	if first {
		p.Dialogs = p.Dialogs[:len(p.Dialogs)-1]
		return p.write(dir)
	}
	return nil
}

// show notes that a dialog for a person is on the screen.
func (d *Dialogs) show(dir string, now time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.of(dir).shown = now
}

// Shown returns when this host saw a dialog for a person on the screen of a launch last. A wait that began before was about
// that dialog.
func (d *Dialogs) Shown(dir string) time.Time {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.of(dir).shown
}

// Tried returns how often the answer to a question was pressed.
func (d *Dialogs) Tried(dir, question string) int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.of(dir).Answers[question]
}

// Try notes that the answer to a question is pressed n times more; -1 if it was not pressed.
func (d *Dialogs) Try(dir, question string, n int) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	p := d.of(dir)
	if p.Answers == nil {
		p.Answers = map[string]int{}
	}
	p.Answers[question] += n
	return p.write(dir)
}

// Start notes that the program of a launch has started.
func (d *Dialogs) Start(dir string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	p := d.of(dir)
	if p.Started {
		return nil
	}
	p.Started = true
	return p.write(dir)
}

// Started reports whether the program of a launch was seen to have started.
func (d *Dialogs) Started(dir string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.of(dir).Started
}

// write need not survive the loss of power, which ends the launch, too.
func (p *pressed) write(dir string) error {
	data, err := json.Marshal(p)
	if err != nil {
		return err
	}
	return durable.View(dir+"/"+File, append(data, '\n'))
}
