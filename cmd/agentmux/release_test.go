package main

import (
	"archive/tar"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/agentmux/agentmux/ghsync/fakehub/runlog"
)

// release is a release v1.2.3 on a server of its own, and a commit of the action that lists it.
type release struct {
	*runner
	source, served string
	archive        string // of this machine
}

func newRelease(t *testing.T) *release {
	t.Helper()
	r := &release{runner: newRunner(t, rigOptions{}), archive: "agentmux_1.2.3_" + runtime.GOOS + "_" + runtime.GOARCH + ".tar.xz"}
	r.source, r.served = filepath.Join(r.dir, "action"), filepath.Join(r.dir, "served")
	for _, dir := range []string{filepath.Join(r.source, ".release"), r.served} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	r.pack("#!/bin/sh\necho the release\n")
	server := httptest.NewTLSServer(http.FileServer(http.Dir(r.served)))
	t.Cleanup(server.Close)
	roots := filepath.Join(r.dir, "roots.pem")
	r.write(roots, string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})))
	for name, value := range map[string]string{"SOURCE": r.source, "CURL_CA_BUNDLE": roots, "GITHUB_OUTPUT": filepath.Join(r.dir, "output")} {
		r.setEnv(name, value)
	}
	own := filepath.Join("..", "..", ".release")
	list, err := exec.Command(filepath.Join(own, "list"), "v1.2.3", r.served, server.URL).Output()
	if err != nil {
		t.Fatal(err)
	}
	r.write(filepath.Join(r.source, ".release", "digests"), string(list))
	install, err := os.ReadFile(filepath.Join(own, "install"))
	if err == nil {
		err = os.WriteFile(filepath.Join(r.source, ".release", "install"), install, 0o700)
	}
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// pack writes the archive of a program. tar finds out by itself that it is not the xz of its name,
// which Go does not write.
func (r *release) pack(program string) {
	r.t.Helper()
	file, err := os.Create(filepath.Join(r.served, r.archive))
	if err != nil {
		r.t.Fatal(err)
	}
	zip := gzip.NewWriter(file)
	to := tar.NewWriter(zip)
	err = to.WriteHeader(&tar.Header{Name: "agentmux", Mode: 0o755, Size: int64(len(program))})
	if err == nil {
		_, err = to.Write([]byte(program))
	}
	for _, closing := range []func() error{to.Close, zip.Close, file.Close} {
		if e := closing(); err == nil {
			err = e
		}
	}
	if err != nil {
		r.t.Fatal(err)
	}
}

// installed is the program of the last install, which may be gone.
func (r *release) installed() string { return filepath.Join(r.temp, "agentmux", "bin", "agentmux") }

// TestSecurity32OnlyTheListedArchiveIsInstalled: the archive that the commit of the action lists is
// installed; with one byte changed nothing of it lies on the runner.
func TestSecurity32OnlyTheListedArchiveIsInstalled(t *testing.T) {
	t.Parallel()
	r := newRelease(t)
	for _, version := range []string{"", "v1.2.3"} {
		if code, log := r.step("binary", "VERSION="+version); code != 0 {
			t.Fatalf("version %q: exit %d\n%s", version, code, log)
		}
		out, err := exec.Command(r.installed()).Output()
		if err != nil || string(out) != "the release\n" {
			t.Errorf("version %q: %q, %v", version, out, err)
		}
		if err := os.RemoveAll(filepath.Dir(r.installed())); err != nil {
			t.Fatal(err)
		}
	}
	if out, err := os.ReadFile(filepath.Join(r.dir, "output")); err != nil || string(out) != strings.Repeat("path="+r.installed()+"\n", 2) {
		t.Errorf("outputs %q, %v", out, err)
	}

	file := filepath.Join(r.served, r.archive)
	whole, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for at := range whole {
		if at != 9 && at != len(whole)/2 && at != len(whole)-1 { // the system in the header, which gzip ignores, is one of them
			continue
		}
		changed := []byte(string(whole))
		changed[at] ^= 1
		if err := os.WriteFile(file, changed, 0o600); err != nil {
			t.Fatal(err)
		}
		r.refused("a wrong digest", "")
	}
	r.pack("#!/bin/sh\necho another\n")
	r.refused("a wrong digest", "")
}

// refused holds that the step ends with one annotation, and that nothing was installed.
func (r *release) refused(title, version string) {
	r.t.Helper()
	code, log := r.step("binary", "VERSION="+version)
	heard := runlog.Commands(log)
	if code != 2 || len(heard) != 1 || !strings.HasPrefix(heard[0], "::error title="+title+"::") {
		r.t.Errorf("version %q: exit %d, want 2 and %q\n%s", version, code, title, log)
	}
	if left, err := filepath.Glob(filepath.Join(filepath.Dir(r.installed()), "*")); err != nil || len(left) > 0 {
		r.t.Errorf("left on the runner: %q, %v", left, err)
	}
}

// What the commit does not list, and what cannot be had, is said by name.
func TestActionSaysWhyNoReleaseIsInstalled(t *testing.T) {
	t.Parallel()
	r := newRelease(t)
	r.refused("input version", "v1.2.4")
	r.refused("input version", "v1.2.3; echo")
	r.refused("input version", "latest")
	if err := os.Remove(filepath.Join(r.served, r.archive)); err != nil {
		t.Fatal(err)
	}
	r.refused("no download", "")
	digests := filepath.Join(r.source, ".release", "digests")
	r.write(digests, "# v1.2.3 https://127.0.0.1:1\n")
	r.refused("the list of digests", "")
	if err := os.Remove(digests); err != nil {
		t.Fatal(err)
	}
	r.refused("input version", "v1.2.3")
	r.setEnv("PATH", r.dir+":/usr/bin:/bin") // where no Go is
	if _, err := os.Stat("/usr/bin/go"); err != nil {
		r.refused("no Go on this runner", "local")
	}
}

// A runner on which agentmux cannot run says so, whether a release would be installed or the commit built.
func TestActionSaysThatTheSystemIsNotOne(t *testing.T) {
	t.Parallel()
	r := newRelease(t)
	uname := filepath.Join(r.dir, "foreign", "uname")
	r.write(uname, "#!/bin/sh\necho MINGW64_NT-10.0-20348\n")
	if err := os.Chmod(uname, 0o700); err != nil {
		t.Fatal(err)
	}
	r.setEnv("PATH", filepath.Dir(uname)+":"+os.Getenv("PATH"))
	r.refused("the system of this runner", "")
	r.refused("the system of this runner", "local")
}

// A build that fails, here because no module proxy is reached, is one annotation with what to do, below what Go says.
func TestActionSaysWhyItIsNotBuilt(t *testing.T) {
	t.Parallel()
	r := newRelease(t)
	r.write(filepath.Join(r.source, "go.mod"), "module example.com/agentmux\n\ngo 1.24\n\nrequire example.com/absent v1.0.0\n")
	r.write(filepath.Join(r.source, "cmd", "agentmux", "main.go"), "package main\n\nimport _ \"example.com/absent\"\n\nfunc main() {}\n")
	for name, value := range map[string]string{"GOPROXY": "http://127.0.0.1:1", "GOFLAGS": "-mod=mod", "GONOSUMDB": "*", "GOTOOLCHAIN": "local"} {
		r.setEnv(name, value)
	}
	r.refused("not built", "local")
	_, log := r.step("binary", "VERSION=local")
	if !strings.Contains(log, "| ") || !strings.Contains(log, "127.0.0.1:1") || !strings.Contains(log, "GOPROXY") || !strings.Contains(log, "pin the commit of a release") {
		t.Errorf("said\n%s", log)
	}
}

// The commit that a release pushes for users to pin has the tag as its parent, and one file of its own:
// the list of the archives.
func TestAReleaseCommitsItsDigestsAlone(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	tree, server := filepath.Join(dir, "tree"), filepath.Join(dir, "server.git")
	git := func(args ...string) string {
		t.Helper()
		cmd := exec.Command("git", append([]string{"-C", tree, "-c", "user.name=one", "-c", "user.email=one@example.com"}, args...)...)
		cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null")
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("git %q: %v\n%s", args, err, out)
		}
		return strings.TrimSpace(string(out))
	}
	if err := os.MkdirAll(filepath.Join(tree, ".release"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"list", "publish"} {
		text, err := os.ReadFile(filepath.Join("..", "..", ".release", name))
		if err == nil {
			err = os.WriteFile(filepath.Join(tree, ".release", name), text, 0o700)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	git("init", "-q")
	git("init", "-q", "--bare", server)
	git("add", "-A")
	git("commit", "-q", "-m", "one")
	git("tag", "v1.2.3")
	git("commit", "-q", "--allow-empty", "-m", "after the tag")
	archive := filepath.Join(tree, "bin", "dist", "agentmux_1.2.3_linux_amd64.tar.xz")
	if err := os.MkdirAll(filepath.Dir(archive), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(archive, []byte("archive"), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(filepath.Join(tree, ".release", "publish"), "v1.2.3", server)
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GITHUB_TOKEN=none")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	head := git("--git-dir", server, "rev-parse", "release-v1.2.3")
	if !strings.Contains(string(out), "pin "+head) {
		t.Errorf("said %s", out)
	}
	if got, want := git("rev-parse", head+"^"), git("rev-parse", "v1.2.3"); got != want {
		t.Errorf("on top of %s, want the tag's %s", got, want)
	}
	if got := git("diff", "--name-status", "v1.2.3", head); got != "A\t.release/digests" {
		t.Errorf("the commit changes %q", got)
	}
	sum := sha256.Sum256([]byte("archive"))
	want := "# v1.2.3 " + server + "/releases/download/v1.2.3\n" + hex.EncodeToString(sum[:]) + "  agentmux_1.2.3_linux_amd64.tar.xz"
	if got := git("show", head+":.release/digests"); got != want {
		t.Errorf("digests %q, want %q", got, want)
	}
}
