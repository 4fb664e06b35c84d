package engine

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"

	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/decide"
	"github.com/agentmux/agentmux/orchestrator/duty"
	"github.com/agentmux/agentmux/orchestrator/session"
)

// commands takes the lines of people. They count at any time, also after the end of a
// session: a parked one may be told to go on. But a run in which it ended leaves them to the
// next one, which begins with all that going on needs.
func (l *loop) commands(ctx context.Context) error {
	return l.lines(ctx, session.Commands, orchestrator.InCommand, func(s *orchestrator.State) (orchestrator.Cursor, bool) {
		return s.CommandCursor, !l.over
	})
}

// toolLines takes the lines of agents, but not while the session is paused or
// after its end: they wait for it to continue. The last ones before another host may have it do not wait for the end of a pause.
func (l *loop) toolLines(ctx context.Context) error {
	return l.lines(ctx, session.ToolEvents, orchestrator.InTool, func(s *orchestrator.State) (orchestrator.Cursor, bool) {
		return s.ToolCursor, (!s.Paused || l.last) && !s.Ended()
	})
}

// saves reports whether a paused session is about to be saved for other machines: that is due, or an agent has handed something
// in, behind which it is saved at once.
func (o *Options) saves(st *orchestrator.State) bool {
	if !o.Leaves || !st.Paused {
		return false
	}
	due, armed := st.Deadlines[decide.CheckpointTimer]
	return armed && !due.After(o.Now()) || o.handsIn(st)
}

// handsIn reports whether lines that were not taken hand something in, or are too many to tell.
func (o *Options) handsIn(st *orchestrator.State) bool {
	lines, more, err := o.Session.Lines(session.ToolEvents, st.ToolCursor, 0)
	return err == nil && (more || slices.ContainsFunc(lines, func(line orchestrator.Line) bool { return duty.Submits(line.Tool) }))
}

// maxBatch is how many lines share a commit, if all of them only leave a record. What people
// say is read between two commits, so an agent that floods its file does not delay the others.
const maxBatch = 1000

// lines takes what file holds behind the cursor, for as long as open says yes.
func (l *loop) lines(ctx context.Context, file, kind string, open func(*orchestrator.State) (orchestrator.Cursor, bool)) error {
	for more := true; more; {
		cursor, ok := open(l.st)
		if !ok {
			return nil
		}
		var lines []orchestrator.Line
		var err error
		lines, more, err = l.Session.Lines(file, cursor, 0)
		if err != nil {
			l.Log.Warn("a line file cannot be read", "file", file, "err", err)
			return nil
		}
		for i := range lines {
			lines[i].Last = l.last
		}
		for len(lines) > 0 {
			if _, ok := open(l.st); !ok || ctx.Err() != nil {
				return nil
			}
			before := len(lines)
			if lines, err = l.batch(ctx, kind, lines); err != nil || len(lines) == before {
				return err
			}
			if kind != orchestrator.InCommand && len(lines) > 0 {
				if err := l.between(ctx); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// batch commits the first lines together, up to one that does more than leave a record or queue a
// message, and returns the rest: all of them if the first has to wait.
func (l *loop) batch(ctx context.Context, kind string, lines []orchestrator.Line) (rest []orchestrator.Line, err error) {
	b := batch{state: l.st}
	for len(lines) > 0 && b.inputs < maxBatch {
		line := &lines[0]
		switch kind {
		case orchestrator.InMessage:
			l.prepare(line)
			if line.Taken = l.archive.taken(&l.Options, l.st, line); !line.Taken {
				l.open(line)
			}
		case orchestrator.InCommand:
			l.openSent(line)
		}
		if kind == orchestrator.InTool {
			l.prepare(line)
			if !l.takes.first(b.state, lines) {
				break
			}
			if line.Tool != "" {
				l.attach(line)
			}
		}
		lines = lines[1:]
		in := orchestrator.Input{Kind: kind, Line: line}
		if kind == orchestrator.InCommand {
			in.Settings = l.Start.Settings
		}
		step, err := l.stage(&b, in)
		if err != nil {
			return nil, err
		}
		if kind == orchestrator.InCommand || kind == orchestrator.InTool && !step.Minor() {
			break
		}
	}
	if kind == orchestrator.InMessage && b.inputs > 0 {
		// The state must not know a message whose file may be lost: its writer may still wait for the disk.
		if err := l.Session.EnsureDirs(session.MessagesDir); err != nil {
			return nil, err
		}
	}
	_, err = l.flush(ctx, b)
	return lines, err
}

// prepare judges who wrote a line, and takes secrets out of it.
func (o *Options) prepare(line *orchestrator.Line) {
	line.Forged = o.Forged != nil && o.Forged(*line)
	redact(o.Redact, line)
}

// between takes what comes before the lines of agents and may have come since.
func (l *loop) between(ctx context.Context) error {
	version := l.version
	err := l.takeResults(ctx)
	if err == nil {
		err = l.commands(ctx)
	}
	if l.version != version {
		l.effects.ready(l.st, l.Now())
	}
	return err
}

// redact takes secrets out of what an agent says; nil takes out nothing.
func redact(clean func(string) string, line *orchestrator.Line) {
	if clean == nil {
		return
	}
	for _, text := range []*string{&line.Tool, &line.ID, &line.Role, &line.Task, &line.Excerpt} {
		*text = clean(*text)
	}
	in := json.NewDecoder(bytes.NewReader(line.Payload))
	in.UseNumber()
	var payload any
	if in.Decode(&payload) != nil {
		return // the reducer says so
	}
	changed := false
	payload = mapTexts(payload, func(text string) string {
		without := clean(text)
		changed = changed || without != text
		return without
	})
	if data, err := json.Marshal(payload); changed && err == nil {
		line.Payload = data
	}
}

// mapTexts applies f to every text in a decoded JSON value; names stay.
func mapTexts(v any, f func(string) string) any {
	switch v := v.(type) {
	case string:
		return f(v)
	case []any:
		for i := range v {
			v[i] = mapTexts(v[i], f)
		}
	case map[string]any:
		for name := range v {
			v[name] = mapTexts(v[name], f)
		}
	}
	return v
}

// attach reads the artifact that a line submits, if the line counts at all.
func (l *loop) attach(line *orchestrator.Line) {
	p, err := line.Decode()
	if err != nil {
		return // the reducer says so
	}
	call := duty.Call{Tool: line.Tool, Role: line.Role, Task: line.Task, Launch: line.Launch, Visit: line.Visit, Payload: p}
	calls := duty.Attribute(l.Definition, l.st, call)
	files := l.files.at(l.st, l.version)
	if len(calls) == 1 {
		line.Artifact = files.artifact(calls[0])
		return
	}
	for _, c := range calls {
		line.Artifacts = append(line.Artifacts, files.artifact(c))
	}
}

// artifact reads what a call submits; nil if there is no such file for it, or the
// call does not count.
func (f *files) artifact(call duty.Call) *orchestrator.Artifact {
	path, kind := duty.ArtifactOf(f.def, f.st, call)
	if path == "" || !duty.Accepts(f.def, f.st, call).OK {
		return nil
	}
	if kind == duty.ArtifactReview {
		path = f.reviewFile(path)
	}
	a, err := f.sess.ReadArtifact(path, kind)
	if err != nil {
		// The disk, not the agent: the agent can only be asked to submit again.
		a = &orchestrator.Artifact{Path: path, Problems: []string{path + " could not be read: " + err.Error()}}
	}
	return a
}
