package config_test

import (
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/agentmux/agentmux/bot/config"
)

// What one process read another takes as it is: the same values, each with its layer, file and
// line, though the files say something else by then.
func TestFilesCarryAConfiguration(t *testing.T) {
	dir := t.TempDir()
	s := config.Sources{
		UserFile: write(t, dir, "user.yaml", "version: 2\nlimits: {phase: 1h}\nworkspace: {root: ~/ws}\n"),
		Project:  fstest.MapFS{".agentmux/config.yaml": {Data: []byte("version: 2\nlimits:\n  phase: 30m\n  stall: 40h\n")}},
		FlagFile: write(t, dir, "flag.yaml", "version: 2\nlimits: {stall: 0}\n"), Home: "/home/me",
	}
	first, problems := config.Load(s)
	if err := problems.Err(); err != nil {
		t.Fatal(err)
	}
	files := first.Files()
	for _, name := range []string{s.UserFile, s.FlagFile} {
		if err := os.Remove(name); err != nil {
			t.Fatal(err)
		}
	}
	second, again := config.LoadFiles(files, "/home/me")
	if !slices.Equal(again.Lines(), problems.Lines()) {
		t.Errorf("problems: %q, want %q", again.Lines(), problems.Lines())
	}
	if !reflect.DeepEqual(second, first) {
		t.Errorf("%+v\nwant\n%+v", second, first)
	}
	if !reflect.DeepEqual(second.Show(), first.Show()) {
		t.Error("the values are shown with other positions")
	}
}

// A document that says it is the repository's configuration is judged as that, and nothing else
// than whole layers in their order is taken.
func TestSecurity27FilesKeepTheRulesOfTheirLayer(t *testing.T) {
	file := func(layer, text string) config.File {
		return config.File{Layer: layer, Name: layer + ".yaml", Data: []byte(text)}
	}
	level := "version: 2\nsandbox: {level: none}\n"
	for name, c := range map[string]struct {
		files []config.File
		want  string // of the first problem; "" if there is none
	}{
		"a key of the person in the person's file":     {[]config.File{file(config.LayerUser, level)}, ""},
		"a key of the person in the repository's file": {[]config.File{file(config.LayerProject, level)}, "sandbox.level: only a configuration file outside the repository may set this"},
		"a layer that is not one":                      {[]config.File{file("mine", level)}, `the layer "mine"`},
		"the built-in layer":                           {[]config.File{file(config.LayerBuiltIn, level)}, `the layer "built-in"`},
		"layers in the wrong order":                    {[]config.File{file(config.LayerFlag, level), file(config.LayerUser, level)}, `the layer "user"`},
		"a layer twice":                                {[]config.File{file(config.LayerUser, level), file(config.LayerUser, level)}, `the layer "user"`},
		"a file that is too large":                     {[]config.File{file(config.LayerUser, level+"#"+strings.Repeat("x", 1<<20))}, `the layer "user"`},
	} {
		t.Run(name, func(t *testing.T) {
			_, problems := config.LoadFiles(c.files, "/home/me")
			lines := strings.Join(problems.Lines(), "\n")
			if c.want == "" && problems.Err() != nil || c.want != "" && !strings.Contains(lines, c.want) {
				t.Errorf("problems %q, want %q", lines, c.want)
			}
		})
	}
}
