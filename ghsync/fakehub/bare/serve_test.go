package bare_test

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/agentmux/agentmux/ghsync/fakehub/bare"
)

// twoServers serves one repository by the package and by git http-backend.
type twoServers struct {
	t      testing.TB
	repo   bare.Repo
	served map[string]*httptest.Server
}

func serveTwice(t testing.TB) *twoServers {
	t.Helper()
	root := t.TempDir()
	repo, err := bare.Init(filepath.Join(root, "1.git"), "main")
	if err != nil {
		t.Fatal(err)
	}
	path, err := exec.LookPath("git")
	if err != nil {
		t.Fatal(err)
	}
	backend := &cgi.Handler{Path: path, Args: []string{"http-backend"}, Root: "/", Dir: repo.Dir, Env: []string{
		"GIT_PROJECT_ROOT=" + root, "GIT_HTTP_EXPORT_ALL=1", "REMOTE_USER=boss", "HOME=" + root, "GIT_CONFIG_NOSYSTEM=1",
	}, Stderr: io.Discard}
	s := &twoServers{t: t, repo: repo, served: map[string]*httptest.Server{}}
	for name, handler := range map[string]http.Handler{
		"here": http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			repo.Serve(w, r, strings.TrimPrefix(r.URL.Path, "/1.git/"), "boss")
		}),
		"git": backend,
	} {
		s.served[name] = httptest.NewServer(handler)
		t.Cleanup(s.served[name].Close)
	}
	return s
}

// in is s for a part of its test.
func (s *twoServers) in(t testing.TB) *twoServers {
	return &twoServers{t: t, repo: s.repo, served: s.served}
}

// question is a request of git.
type question struct {
	method, path, body string
	header             map[string]string
}

func (s *twoServers) ask(server string, q question) string {
	s.t.Helper()
	req, err := http.NewRequestWithContext(s.t.Context(), q.method, s.served[server].URL+"/1.git/"+q.path, strings.NewReader(q.body))
	if err != nil {
		s.t.Fatal(err)
	}
	for key, value := range q.header {
		req.Header.Set(key, value)
	}
	answer, err := http.DefaultClient.Do(req)
	if err != nil {
		s.t.Fatal(err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	answer.Header.Del("Date")
	answer.Header.Del("Content-Length") // short answers have one where long ones are sent in chunks
	return fmt.Sprintf("%d %v\n%q", answer.StatusCode, answer.Header, joined(body))
}

// joined has what git sends of a pack as one: it is cut into packets by chance.
func joined(body []byte) string {
	text, pack := "", ""
	for rest := body; len(rest) >= 4; {
		size, err := strconv.ParseUint(string(rest[:4]), 16, 16)
		if err != nil || int(size) > len(rest) {
			return string(body)
		}
		size = max(size, 4)
		if data, is := strings.CutPrefix(string(rest[4:size]), "\x01"); is {
			pack += data
		} else {
			text += string(rest[:size])
		}
		rest = rest[size:]
	}
	return text + pack
}

// same asks both servers and returns the answer.
func (s *twoServers) same(q question) string {
	s.t.Helper()
	got, want := s.ask("here", q), s.ask("git", q)
	if got != want {
		s.t.Fatalf("%+v\nanswer\n%s\ngit answers\n%s", q, got, want)
	}
	return got
}

// sameWithoutGit is same for what is answered without a process once it was asked before.
func (s *twoServers) sameWithoutGit(q question) {
	s.t.Helper()
	want := s.same(q)
	path := os.Getenv("PATH")
	s.t.Setenv("PATH", filepath.Join(s.repo.Dir, "none"))
	got := s.ask("here", q)
	s.t.Setenv("PATH", path)
	if got != want {
		s.t.Fatalf("%+v\nanswer without git\n%s\nwith git\n%s", q, got, want)
	}
}

func (s *twoServers) git(args ...string) string {
	s.t.Helper()
	out, err := s.repo.Run(args...)
	if err != nil {
		s.t.Fatal(err)
	}
	return out
}

func (s *twoServers) commit(ref, content string) {
	s.t.Helper()
	err := s.repo.Commit(bare.Commit{Ref: ref, Message: content, Files: map[string]string{"a.txt": content}, At: time.Unix(1, 0)})
	if err != nil {
		s.t.Fatal(err)
	}
}

func (s *twoServers) tag(name, target string) {
	s.t.Helper()
	s.git("-c", "user.name=A", "-c", "user.email=a@example.com", "tag", "-f", "-a", "-m", name, name, target)
}

// sameRefs holds Refs against git.
func (s *twoServers) sameRefs() {
	s.t.Helper()
	refs, err := s.repo.Refs()
	var lines []string
	for ref, id := range refs {
		lines = append(lines, ref+" "+id)
	}
	slices.Sort(lines)
	if got, want := strings.Join(lines, "\n"), s.git("for-each-ref", "--sort=refname", "--format=%(refname) %(objectname)"); err != nil || got != want {
		s.t.Fatalf("refs: %v\n%s\ngit says\n%s", err, got, want)
	}
}

var version2 = map[string]string{"Git-Protocol": "version=2"}

func fetches(header map[string]string) map[string]string {
	all := map[string]string{"Content-Type": "application/x-git-upload-pack-request"}
	for key, value := range header {
		all[key] = value
	}
	return all
}

func list(arguments ...string) question {
	body := line("command=ls-refs\n") + line("agent=git/2.0") + line("object-format=sha1") + "0001"
	for _, argument := range arguments {
		body += line(argument + "\n")
	}
	return question{"POST", "git-upload-pack", body + "0000", fetches(version2)}
}

func packed(t *testing.T, q question) question {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := io.WriteString(w, q.body); err != nil || w.Close() != nil {
		t.Fatal("pack the body")
	}
	q.body, q.header = b.String(), fetches(map[string]string{"Git-Protocol": "version=2", "Content-Encoding": "gzip"})
	return q
}

var (
	pushOffer  = question{"GET", "info/refs?service=git-receive-pack", "", nil}
	fetchOffer = question{"GET", "info/refs?service=git-upload-pack", "", version2}
)

func TestListsOfRefsAreThoseOfGit(t *testing.T) {
	seeds := uint64(4)
	if testing.Short() {
		seeds = 1
	}
	for seed := range seeds {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			s, r := serveTwice(t), rand.New(rand.NewPCG(seed, 1))
			s.sameWithoutGit(list("peel", "symrefs", "unborn", "ref-prefix HEAD")) // nothing is there
			s.sameWithoutGit(list("symrefs"))
			s.sameWithoutGit(packed(t, list("symrefs", "unborn")))
			s.sameWithoutGit(pushOffer)
			for n := range 5 {
				s.grow(r, n)
				s.sameRefs()
				s.sameWithoutGit(fetchOffer)
				s.sameWithoutGit(pushOffer)
				s.sameWithoutGit(list("peel", "symrefs", "unborn"))
				for range 3 {
					s.sameWithoutGit(list(s.arguments(r)...))
				}
			}
		})
	}
}

// grow changes the refs by chance.
func (s *twoServers) grow(r *rand.Rand, round int) {
	s.t.Helper()
	pick := func(list ...string) string { return list[r.IntN(len(list))] }
	for n := range 1 + r.IntN(4) {
		s.commit(pick("refs/heads/main", "refs/heads/a/b-1", "refs/heads/a/b.c", "refs/heads/a0", "refs/agentmux/claims/1", "refs/stash"), fmt.Sprint(round, n))
	}
	tips := strings.Fields(s.git("for-each-ref", "--format=%(objectname)"))
	tip := pick(tips...)
	if r.IntN(2) == 0 {
		s.tag(pick("v1", "v2.0", "deep/v3"), tip)
	}
	if r.IntN(3) == 0 {
		s.git("update-ref", pick("refs/tags/plain", "refs/heads/x"), s.git("rev-parse", tip+"^{commit}"))
	}
	switch r.IntN(6) {
	case 0:
		s.git("symbolic-ref", "HEAD", pick("refs/heads/main", "refs/heads/unborn", "refs/heads/a"))
	case 1:
		s.git("update-ref", "--no-deref", "HEAD", s.git("rev-parse", tip+"^{commit}"))
	case 2:
		s.git("pack-refs", "--all", pick("--prune", "--no-prune"))
	case 3:
		s.git("repack", "-a", "-d", "-q")
	case 4:
		s.git("update-ref", "-d", pick(strings.Fields(s.git("for-each-ref", "--format=%(refname)"))...))
	}
}

func (s *twoServers) arguments(r *rand.Rand) (arguments []string) {
	for _, option := range []string{"peel", "symrefs", "unborn"} {
		if r.IntN(2) == 0 {
			arguments = append(arguments, option)
		}
	}
	for range r.IntN(5) {
		prefixes := []string{"HEAD", "refs/heads/", "refs/heads/a", "refs/heads/a/b", "refs/heads/main", "refs/tags/", "refs/", "re", "", "main", "refs/agentmux/claims/1", "refs/heads/*", "refs/none/"}
		arguments = append(arguments, "ref-prefix "+prefixes[r.IntN(len(prefixes))])
	}
	return arguments
}

// What is not plain is git's to answer: the answers are the same, whoever gives them.
func TestOddRepositoriesAreLeftToGit(t *testing.T) {
	for name, change := range map[string]func(*twoServers){
		"hidden refs":      func(s *twoServers) { s.git("config", "transfer.hideRefs", "refs/heads/side") },
		"no pushes":        func(s *twoServers) { s.git("config", "http.receivepack", "false") },
		"no unborn":        func(s *twoServers) { s.git("config", "lsrefs.unborn", "ignore") },
		"a symbolic ref":   func(s *twoServers) { s.git("symbolic-ref", "refs/heads/other", "refs/heads/main") },
		"an odd name":      func(s *twoServers) { s.git("update-ref", "refs/heads/ä", "refs/heads/main") },
		"a lock":           func(s *twoServers) { s.write("refs/heads/main.lock", "") },
		"a broken ref":     func(s *twoServers) { s.write("refs/heads/broken", "none\n") },
		"a missing object": func(s *twoServers) { s.write("refs/heads/missing", strings.Repeat("1", 40)+"\n") },
		"an odd file":      func(s *twoServers) { s.write("refs/heads/.hidden", "none\n") },
		"a strange HEAD":   func(s *twoServers) { s.write("HEAD", "ref:   refs/heads/main\n") },
		"a replaced tag": func(s *twoServers) {
			s.tag("v1", "refs/heads/main")
			s.tag("v2", "refs/heads/side")
			s.git("replace", "refs/tags/v1", "refs/tags/v2")
		},
		"an alternate": func(s *twoServers) {
			other, err := bare.Init(filepath.Join(filepath.Dir(s.repo.Dir), "2.git"), "main")
			if err == nil {
				err = other.Commit(bare.Commit{Ref: "refs/heads/far", Message: "far", At: time.Unix(2, 0)})
			}
			if err != nil {
				s.t.Fatal(err)
			}
			s.write("objects/info/alternates", filepath.Join(other.Dir, "objects")+"\n")
		},
		"a shallow history": func(s *twoServers) { s.write("shallow", s.git("rev-parse", "refs/heads/main")+"\n") },
	} {
		t.Run(name, func(t *testing.T) {
			s := serveTwice(t)
			s.commit("refs/heads/main", "one")
			s.commit("refs/heads/side", "two")
			s.same(pushOffer)
			s.same(fetchOffer)
			change(s)
			s.sameRefs()
			s.same(pushOffer)
			s.same(fetchOffer)
			s.same(list("peel", "symrefs", "unborn"))
			s.same(list("ref-prefix refs/heads/"))
		})
	}
}

func (s *twoServers) write(name, text string) {
	s.t.Helper()
	if err := os.WriteFile(filepath.Join(s.repo.Dir, name), []byte(text), 0o600); err != nil {
		s.t.Fatal(err)
	}
}

func TestOddRequestsAreAnsweredAsByGit(t *testing.T) {
	s := serveTwice(t)
	s.commit("refs/heads/main", "one")
	main := s.git("rev-parse", "refs/heads/main")
	upload := func(header map[string]string, lines ...string) question {
		return question{"POST", "git-upload-pack", strings.Join(lines, ""), header}
	}
	command, v2 := line("command=ls-refs"), fetches(version2)
	want := line("want "+main+" ofs-delta\n") + "0000" + line("done\n")
	for name, q := range map[string]question{
		"oldest version":       {"GET", "info/refs?service=git-upload-pack", "", nil},
		"version 1":            {"GET", "info/refs?service=git-upload-pack", "", map[string]string{"Git-Protocol": "version=1"}},
		"several versions":     {"GET", "info/refs?service=git-upload-pack", "", map[string]string{"Git-Protocol": "version=2:version=1"}},
		"version 1 of a push":  {"GET", "info/refs?service=git-receive-pack", "", map[string]string{"Git-Protocol": "version=1"}},
		"version 2 of a push":  {"GET", "info/refs?service=git-receive-pack", "", version2},
		"no service":           {"GET", "info/refs", "", nil},
		"unknown service":      {"GET", "info/refs?service=git-none", "", nil},
		"dumb":                 {"GET", "HEAD", "", nil},
		"nowhere":              {"GET", "none", "", nil},
		"other method":         {"PUT", "git-upload-pack", "", v2},
		"no type":              {"POST", "git-upload-pack", list().body, version2},
		"type of a push":       {"POST", "git-upload-pack", list().body, map[string]string{"Content-Type": "application/x-git-receive-pack-request"}},
		"list in version 0":    upload(fetches(nil), list().body),
		"no arguments":         upload(v2, command, "0000"),
		"no body":              upload(v2),
		"no packet":            upload(v2, "zzzz"),
		"cut":                  upload(v2, command, "00"),
		"no flush":             upload(v2, command, "0001"),
		"flush alone":          upload(v2, "0000"),
		"unknown command":      upload(v2, line("command=none"), "0000"),
		"two commands":         upload(v2, command, command, "0000"),
		"no command":           upload(v2, line("agent=x"), "0000"),
		"unknown capability":   upload(v2, command, line("none"), "0000"),
		"unknown argument":     upload(v2, command, "0001", line("none"), "0000"),
		"two delimiters":       upload(v2, command, "0001", "0001", "0000"),
		"sha256":               upload(v2, command, line("object-format=sha256"), "0000"),
		"empty line":           upload(v2, command, "0001", "0004", "0000"),
		"more behind":          upload(v2, command, "0000", command, "0000"),
		"NUL":                  upload(v2, command, "0001", line("peel\x00x"), "0000"),
		"long line":            upload(v2, command, "0001", line("ref-prefix "+strings.Repeat("r", 65510)), "0000"),
		"no gzip":              upload(fetches(map[string]string{"Git-Protocol": "version=2", "Content-Encoding": "gzip"}), command, "0000"),
		"unknown encoding":     upload(fetches(map[string]string{"Git-Protocol": "version=2", "Content-Encoding": "br"}), list().body),
		"fetch":                upload(v2, line("command=fetch"), "0001", line("no-progress"), line("want "+main), line("done"), "0000"),
		"fetch in gzip":        packed(t, upload(v2, line("command=fetch"), "0001", line("no-progress"), line("want "+main), line("done"), "0000")),
		"fetch in version 0":   upload(fetches(nil), want),
		"fetch of what is not": upload(v2, line("command=fetch"), "0001", line("want "+strings.Repeat("1", 40)), line("done"), "0000"),
		"empty push":           {"POST", "git-receive-pack", "0000", map[string]string{"Content-Type": "application/x-git-receive-pack-request"}},
		"push of what is not": {"POST", "git-receive-pack", line(zeroID+" "+strings.Repeat("1", 40)+" refs/heads/x\x00report-status") + "0000",
			map[string]string{"Content-Type": "application/x-git-receive-pack-request"}},
		"broken push": {"POST", "git-receive-pack", "zzzz", map[string]string{"Content-Type": "application/x-git-receive-pack-request"}},
	} {
		t.Run(name, func(t *testing.T) {
			s.in(t).same(q)
		})
	}
}

func FuzzFetchesAreAnsweredAsByGit(f *testing.F) {
	s := serveTwice(f)
	s.commit("refs/heads/main", "one")
	s.tag("v1", "refs/heads/main")
	f.Add([]byte(list("peel", "symrefs", "unborn", "ref-prefix refs/heads/").body))
	f.Add([]byte(line("command=ls-refs") + "0000"))
	f.Add([]byte(line("command=ls-refs") + "0001" + line("ref-prefix \n") + "0002"))
	f.Fuzz(func(t *testing.T, body []byte) {
		s.in(t).same(question{"POST", "git-upload-pack", string(body), fetches(version2)})
	})
}

func TestPushesAreReportedAsByGit(t *testing.T) {
	push := map[string]string{"Content-Type": "application/x-git-receive-pack-request"}
	var answers []string
	for _, server := range []string{"here", "git"} {
		s := serveTwice(t)
		s.commit("refs/heads/main", "one")
		main := s.git("rev-parse", "refs/heads/main")
		body := line(zeroID+" "+main+" refs/heads/a\x00report-status side-band-64k atomic") + line(oldID+" "+main+" refs/heads/main") + "0000"
		pack, err := exec.Command("git", "--git-dir="+s.repo.Dir, "pack-objects", "--all", "--stdout", "-q").Output()
		if err != nil {
			t.Fatal(err)
		}
		answers = append(answers, s.ask(server, question{"POST", "git-receive-pack", body + string(pack), push}))
		body = line(zeroID+" "+main+" refs/heads/a\x00report-status") + line(main+" "+zeroID+" refs/heads/main") + "0000"
		answers = append(answers, s.ask(server, question{"POST", "git-receive-pack", body + string(pack), push}))
		refs, err := s.repo.Refs()
		if err != nil {
			t.Fatal(err)
		}
		answers = append(answers, fmt.Sprint(refs))
	}
	half := len(answers) / 2
	if !slices.Equal(answers[:half], answers[half:]) {
		t.Errorf("answers\n%s\ngit answers\n%s", strings.Join(answers[:half], "\n"), strings.Join(answers[half:], "\n"))
	}
}

func TestFilesAreThoseOfTheRefNow(t *testing.T) {
	s := serveTwice(t)
	for _, content := range []string{"one", "two"} {
		s.commit("refs/heads/main", content)
		s.commit("refs/heads/v1", "a branch")
		s.commit("refs/tags/v1", content+" of the tag")
		id := s.git("rev-parse", "refs/heads/main")
		for range 2 {
			for ref, want := range map[string]string{"main": content, "refs/heads/main": content, "heads/main": content, "v1": content + " of the tag", "HEAD": content, id: content, id[:10]: content} {
				if got, found := s.repo.File(ref, "a.txt"); !found || string(got) != want {
					t.Errorf("a.txt of %s: %v %q, want %q", ref, found, got, want)
				}
			}
			if got, found := s.repo.File("main", "b.txt"); found {
				t.Errorf("b.txt: %q", got)
			}
			if got, found := s.repo.File("none", "a.txt"); found {
				t.Errorf("a.txt of no ref: %q", got)
			}
		}
	}
	path := os.Getenv("PATH")
	t.Setenv("PATH", filepath.Join(s.repo.Dir, "none"))
	if got, found := s.repo.File("main", "a.txt"); !found || string(got) != "two" {
		t.Errorf("a.txt without git: %v %q", found, got)
	}
	t.Setenv("PATH", path)
	if err := s.repo.Commit(bare.Commit{Ref: "refs/heads/main", Message: "three", Files: map[string]string{"b.txt": "three"}, At: time.Unix(3, 0)}); err != nil {
		t.Fatal(err)
	}
	if got, found := s.repo.File("main", "b.txt"); !found || string(got) != "three" {
		t.Errorf("b.txt at last: %v %q", found, got)
	}
}
