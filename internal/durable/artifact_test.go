package durable_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"github.com/agentmux/agentmux/internal/durable"
)

func itoa(n int) string { return strconv.Itoa(n) }

func atoi(t *testing.T, text string) int {
	t.Helper()
	n, err := strconv.Atoi(strings.TrimSpace(text))
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func TestReadRegular(t *testing.T) {
	root := t.TempDir()
	if err := os.MkdirAll(filepath.Join(root, "04_planning", "dir"), 0o700); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"plan.yaml":  "version: 2\r\nx: ü\n",
		"bom.md":     "\ufeff# Title\n",
		"only-bom":   "\ufeff",
		"empty":      "",
		"full":       strings.Repeat("x", 64),
		"over":       strings.Repeat("x", 65),
		"nul":        "a\nb\x00",
		"latin-1":    "a\n\nb\xfc\n",
		"surrogate":  "\xed\xa0\x80",
		"two-boms":   "\ufeff\ufeffx",
		"late-bad":   strings.Repeat("é", 20) + "\xff",
		"real-fffd":  "\ufffd",
		"wrong-bom":  "\xff\xfea\x00",
		"name space": "ok",
	} {
		write(t, filepath.Join(root, "04_planning", name), text)
	}
	links := map[string]string{"link": "plan.yaml", "dangling": "none", "linked-dir": "dir"}
	for name, target := range links {
		if err := os.Symlink(target, filepath.Join(root, "04_planning", name)); err != nil {
			t.Fatal(err)
		}
	}
	write(t, filepath.Join(root, "04_planning", "dir", "inside"), "ok")
	if err := syscall.Mkfifo(filepath.Join(root, "04_planning", "fifo"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ name, want, problem string }{
		{"plan.yaml", "version: 2\r\nx: ü\n", ""},
		{"bom.md", "# Title\n", ""},
		{"only-bom", "", ""},
		{"empty", "", ""},
		{"full", strings.Repeat("x", 64), ""},
		{"two-boms", "\ufeffx", ""},
		{"real-fffd", "\ufffd", ""},
		{"name space", "ok", ""},
		{"dir/inside", "ok", ""},
		{"./dir/../dir/inside", "ok", ""},
		{"over", "", "04_planning/over is larger than 64 bytes"},
		{"nul", "", "04_planning/nul holds a NUL byte in line 2"},
		{"latin-1", "", "04_planning/latin-1 is not valid UTF-8 in line 3"},
		{"surrogate", "", "04_planning/surrogate is not valid UTF-8 in line 1"},
		{"late-bad", "", "04_planning/late-bad is not valid UTF-8 in line 1"},
		{"wrong-bom", "", "04_planning/wrong-bom holds a NUL byte in line 1"},
		{"link", "", "04_planning/link is a symbolic link"},
		{"dangling", "", "04_planning/dangling is a symbolic link"},
		{"linked-dir/inside", "", "04_planning/linked-dir is a symbolic link"},
		{"dir", "", "04_planning/dir is a directory"},
		{"fifo", "", "04_planning/fifo is not a regular file"},
		{"none", "", "04_planning/none does not exist"},
		{"none/none", "", "04_planning/none/none does not exist"},
		{"plan.yaml/x", "", "04_planning/plan.yaml is not a directory"},
		{"../../x", "", "04_planning/../../x is not a path below its directory"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := durable.ReadRegular(root, "04_planning/"+c.name, 64)
			if c.problem == "" {
				if err != nil || string(got) != c.want {
					t.Errorf("got %q, %v, want %q", got, err, c.want)
				}
				return
			}
			var problem *durable.ArtifactError
			if !errors.As(err, &problem) || err.Error() != c.problem {
				t.Errorf("error is %v, want %s", err, c.problem)
			}
			if got != nil {
				t.Errorf("refused, but gave %q", got)
			}
		})
	}
	if _, err := durable.ReadRegular(root, "none", 64); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("missing file: %v is not fs.ErrNotExist", err)
	}
	for _, rel := range []string{"", ".", "/etc/hostname", ".."} {
		var problem *durable.ArtifactError
		if _, err := durable.ReadRegular(root, rel, 64); !errors.As(err, &problem) {
			t.Errorf("path %q: %v", rel, err)
		}
	}
}

func TestReadRegularAllowsALinkAboveTheRoot(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "real"), 0o700); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "real", "file"), "ok")
	if err := os.Symlink("real", filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	got, err := durable.ReadRegular(filepath.Join(dir, "link"), "file", durable.MaxArtifact)
	if err != nil || string(got) != "ok" {
		t.Errorf("got %q, %v", got, err)
	}
}

func TestReadRegularIsNotFooledByAnExchange(t *testing.T) {
	root := t.TempDir()
	for _, dir := range []string{"phase", "private"} {
		if err := os.Mkdir(filepath.Join(root, dir), 0o700); err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(root, dir, "file"), dir)
	}
	for _, c := range []struct{ name, link, target string }{
		{"phase", "link", "private"},
		{"phase/file", "phase/link", "../private/file"},
	} {
		name, link := filepath.Join(root, c.name), filepath.Join(root, c.link)
		if err := os.Symlink(c.target, link); err != nil {
			t.Fatal(err)
		}
		if err := exchange(name, link); err != nil {
			t.Skipf("names cannot be exchanged here: %v", err)
		}
		stop, done := make(chan struct{}), make(chan struct{})
		go func() {
			defer close(done)
			for n := 1; ; n++ {
				select {
				case <-stop:
					if n%2 == 1 {
						_ = exchange(name, link) // as it was
					}
					return
				default:
					_ = exchange(name, link)
				}
			}
		}()
		for range 5000 {
			if got, err := durable.ReadRegular(root, "phase/file", 100); err == nil && string(got) != "phase" {
				t.Errorf("read %q", got)
				break
			}
		}
		close(stop)
		<-done
	}
}

// exchange swaps two names in one step, by renameat2 of Linux.
func exchange(a, b string) error {
	const here, flag = ^uintptr(99), 2 // AT_FDCWD, RENAME_EXCHANGE
	number, ok := map[string]uintptr{"linux/amd64": 316, "linux/arm64": 276}[runtime.GOOS+"/"+runtime.GOARCH]
	if !ok {
		return errors.ErrUnsupported
	}
	from, err := syscall.BytePtrFromString(a)
	if err != nil {
		return err
	}
	to, err := syscall.BytePtrFromString(b)
	if err != nil {
		return err
	}
	_, _, errno := syscall.Syscall6(number, here, uintptr(unsafe.Pointer(from)), here, uintptr(unsafe.Pointer(to)), flag, 0)
	if errno != 0 {
		return errno
	}
	return nil
}

func TestReadRegularNamesItsLimit(t *testing.T) {
	root := t.TempDir()
	write(t, filepath.Join(root, "big"), strings.Repeat("x", durable.MaxArtifact+1))
	for limit, want := range map[int64]string{
		durable.MaxArtifact: "big is larger than 1 MiB",
		64 << 10:            "big is larger than 64 KiB",
		1000:                "big is larger than 1000 bytes",
	} {
		if _, err := durable.ReadRegular(root, "big", limit); err == nil || err.Error() != want {
			t.Errorf("error is %v, want %s", err, want)
		}
	}
}

func TestBlank(t *testing.T) {
	for text, want := range map[string]bool{"": true, " \t\r\n\u00a0": true, " x": false, "\ufffd": false} {
		if got := durable.Blank([]byte(text)); got != want {
			t.Errorf("Blank(%q) = %v", text, got)
		}
	}
}

func TestStableFile(t *testing.T) {
	written := time.Date(2026, 1, 15, 11, 5, 0, 0, time.UTC)
	seen := func(size int64, mod time.Time, after time.Duration) durable.Look {
		return durable.Look{Size: size, ModTime: mod, At: written.Add(after)}
	}
	first := seen(10, written, time.Second)
	for _, c := range []struct {
		name  string
		later durable.Look
		from  time.Time
		want  bool
	}{
		{"unchanged for a second", seen(10, written, 2*time.Second), written, true},
		{"too early", seen(10, written, 2*time.Second-1), written, false},
		{"grown", seen(11, written, 3*time.Second), written, false},
		{"written again", seen(10, written.Add(1), 3*time.Second), written, false},
		{"from before the phase", seen(10, written, 3*time.Second), written.Add(1), false},
		{"from before, any time allowed", seen(10, written, 3*time.Second), time.Time{}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := c.later.StableSince(first, c.from); got != c.want {
				t.Errorf("%v", got)
			}
		})
	}
	empty := seen(0, written, time.Second)
	if seen(0, written, time.Minute).StableSince(empty, written) {
		t.Error("an empty file counts as written")
	}
}

func TestLookAtSeesTheFile(t *testing.T) {
	root := t.TempDir()
	write(t, filepath.Join(root, "f"), "12345")
	mod := time.Date(2026, 1, 15, 11, 5, 0, 0, time.UTC)
	if err := os.Chtimes(filepath.Join(root, "f"), mod, mod); err != nil {
		t.Fatal(err)
	}
	now := mod.Add(time.Hour)
	got, err := durable.LookAt(root, "f", now)
	if err != nil || got.Size != 5 || !got.ModTime.Equal(mod) || !got.At.Equal(now) {
		t.Errorf("look is %+v, %v", got, err)
	}
	if _, err := durable.LookAt(root, "none", now); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("missing file: %v", err)
	}
}
