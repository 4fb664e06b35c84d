package keys_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/agentmux/agentmux/bot/crew/keys"
)

const trust = "Do you trust"

func press(t *testing.T, d *keys.Dialogs, dir, screen string, taken bool) {
	t.Helper()
	if err := d.Press(dir, trust, screen, func() bool { return taken }); err != nil {
		t.Fatal(err)
	}
}

// A key that may be lost is pressed three times, and none of them by the next host.
func TestADialogIsAnsweredByOneHost(t *testing.T) {
	dir := t.TempDir()
	var d keys.Dialogs
	for range 3 {
		if !d.Open(dir, trust, "a") {
			t.Fatal("not open")
		}
		press(t, &d, dir, "a", true)
	}
	if d.Open(dir, trust, "a") {
		t.Error("open for a fourth key")
	}
	if !d.Open(dir, "Update now", "a") || !d.Open(t.TempDir(), trust, "a") {
		t.Error("another dialog, or that of another launch, counts as answered")
	}
	var next keys.Dialogs
	if next.Open(dir, trust, "a") {
		t.Error("open for the next host")
	}
}

func TestADialogThatChangedTheScreenIsAnswered(t *testing.T) {
	dir := t.TempDir()
	var d keys.Dialogs
	press(t, &d, dir, "a", true)
	if d.Open(dir, trust, "b") || d.Open(dir, trust, "a") {
		t.Error("open")
	}
}

// A host that dies while it presses has noted that before, and one that could not press has not pressed.
func TestAKeyThatWasNotPressed(t *testing.T) {
	dir := t.TempDir()
	var d keys.Dialogs
	if err := d.Press(dir, trust, "a", func() bool {
		var next keys.Dialogs
		if next.Open(dir, trust, "a") {
			t.Error("the key is not noted before it is pressed")
		}
		return false
	}); err != nil {
		t.Fatal(err)
	}
	var next keys.Dialogs
	if !d.Open(dir, trust, "b") || !next.Open(dir, trust, "a") {
		t.Error("a key that was not pressed counts")
	}
}

func TestNoKeyAfterTheStart(t *testing.T) {
	dir := t.TempDir()
	var d keys.Dialogs
	if d.Started(dir) {
		t.Error("started")
	}
	if err := d.Start(dir); err != nil {
		t.Fatal(err)
	}
	var next keys.Dialogs
	if !d.Started(dir) || d.Open(dir, trust, "a") || !next.Started(dir) || next.Open(dir, trust, "a") {
		t.Error("a dialog of the start is open after it")
	}
}

func TestANoteThatIsNotOursSaysNothing(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, keys.File), []byte("[]"), 0o600); err != nil {
		t.Fatal(err)
	}
	var d keys.Dialogs
	if !d.Open(dir, trust, "a") || d.Started(dir) {
		t.Error("it counts")
	}
}

// How often the answer to a question was pressed survives the host that pressed it.
func TestTriesOfAnAnswerAreCountedForTheNextHost(t *testing.T) {
	dir := t.TempDir()
	var d keys.Dialogs
	for range 2 {
		if err := d.Try(dir, "d1", 1); err != nil {
			t.Fatal(err)
		}
	}
	var next keys.Dialogs
	if d.Tried(dir, "d1") != 2 || next.Tried(dir, "d1") != 2 || next.Tried(dir, "d2") != 0 || next.Tried(t.TempDir(), "d1") != 0 {
		t.Error("tries are forgotten, or counted elsewhere")
	}
}
