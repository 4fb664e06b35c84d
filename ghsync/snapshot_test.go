package ghsync_test

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/agentmux/agentmux/ghsync"
	"github.com/agentmux/agentmux/ghsync/fakehub"
	"github.com/agentmux/agentmux/internal/sanitize"
)

// steering is an issue with comments of everybody, and a clock that moves by a minute for
// each step.
type steering struct {
	t      *testing.T
	server *fakehub.Server
	repo   *fakehub.Repo
	n      int
	now    time.Time
}

func newSteering(t *testing.T, body string, change ...func(*fakehub.Options)) *steering {
	t.Helper()
	st := &steering{t: t, now: sceneStart}
	st.server = world(t, append(change, func(o *fakehub.Options) {
		o.Now = func() time.Time { return st.now }
		o.Users = append(o.Users,
			fakehub.UserSpec{Login: "helper[bot]", Type: "Bot", Roles: map[string]fakehub.Role{widgets: fakehub.Write}},
			fakehub.UserSpec{Login: "hidden-member", Member: "private", Roles: map[string]fakehub.Role{widgets: fakehub.Write}},
			fakehub.UserSpec{Login: "stranger"})
	})...)
	st.repo = st.server.Repo(widgets)
	st.n = st.repo.AddIssue(fakehub.IssueSpec{Title: "Add  retry", Body: body, Author: "read"})
	return st
}

func (st *steering) comment(body, login string) int64 {
	st.now = st.now.Add(time.Minute)
	return st.repo.Comment(st.n, body, login)
}

func (st *steering) take(cutOff time.Time) ghsync.Snapshot {
	st.t.Helper()
	s, err := clientOf(st.t, st.server, botLogin).TakeSnapshot(st.t.Context(), ghsync.SnapshotSpec{
		Repo: octoWidgets, Issue: st.n, CutOff: cutOff, Trigger: "cli/x",
		Requester: ghsync.Permission{Account: ghsync.Account{Login: "write", ID: 7}, Level: ghsync.LevelWrite},
	})
	if err != nil {
		st.t.Fatal(err)
	}
	return s
}

func bodies(s ghsync.Snapshot) string {
	var all []string
	for _, c := range s.Comments {
		all = append(all, c.Author+": "+c.Body.String())
	}
	return strings.Join(all, "\n")
}

func TestSecurity5SnapshotTakesOnlyWhatMaySteer(t *testing.T) {
	for name, change := range map[string]func(*fakehub.Options){"GraphQL": func(*fakehub.Options) {}, "REST": withoutGraphQL} {
		t.Run(name, func(t *testing.T) {
			st := newSteering(t, "Please <!-- secretly --> retry.", change)
			marker := ghsync.Marker{Session: "s", Kind: ghsync.KindStatus, Seq: 1}.String()
			st.comment("by write", "write")
			st.comment("by a private member", "hidden-member")
			st.comment("by a member who reads", "read")
			st.comment("by a collaborator who triages", "triage")
			st.comment("by a stranger", "stranger")
			st.comment("by a bot", "helper[bot]")
			st.comment("/agentmux say hello", "write")
			st.comment("our status\n"+marker, botLogin)
			st.comment("a person with our marker\n"+marker, "write")
			st.comment("our account, a person's words", botLogin)
			edited := st.comment("early", "maintain")
			cutOff := st.now
			st.comment("late", "write")
			st.repo.EditComment(edited, "changed late", "maintain")
			s := st.take(cutOff)
			want := "write: by write\nhidden-member: by a private member\n" +
				"write: a person with our marker\n[removed]\nrobot: our account, a person's words"
			if got := bodies(s); got != want {
				t.Errorf("comments\n%s\nwant\n%s", got, want)
			}
			if c := s.Report.Comments; c.Used != 4 || c.Author != 5 || c.Late != 2 || c.Command != 1 {
				t.Errorf("counts %+v", c)
			}
			if s.Title.String() != "Add retry" || strings.Contains(s.Body.String(), "secretly") || s.Report.Removed["comment"] == 0 {
				t.Errorf("title %q, body %q, report %+v", s.Title.String(), s.Body.String(), s.Report)
			}
			if s.Requester.Level != "write" || s.RepoID != st.repo.ID() || s.Author != "read" || s.Trigger != "cli/x" {
				t.Errorf("snapshot %+v", s)
			}
		})
	}
}

func TestSnapshotTakesATitleForNoMarkdown(t *testing.T) {
	for title, want := range map[string]string{
		"[Bug]: Crash":                        "[Bug]: Crash",
		"<Button> and Vec<u8> are <b>ok":      "<Button> and Vec<u8> are <b>ok",
		"a <!-- secretly -->b\u200b  \u202ec": "a [removed]b c",
	} {
		t.Run(title, func(t *testing.T) {
			st := newSteering(t, "b")
			st.repo.EditIssue(st.n, "write", &title, nil)
			if s := st.take(st.now); s.Title.String() != want {
				t.Errorf("%q is taken as %q, want %q", title, s.Title, want)
			}
		})
	}
}

// Without an answer about an author nothing is decided: no comment is left out by a fault.
func TestSnapshotFailsWithoutAPermission(t *testing.T) {
	marker := ghsync.Marker{Session: "s", Kind: ghsync.KindStatus, Seq: 1}.String()
	for name, faults := range map[string][]fakehub.Fault{
		"permission": {{Route: "GET .../collaborators/{login}/permission", Status: 403}},
		"viewer":     {{Route: "POST /graphql", Status: 404}, {Route: "GET /user", Status: 403}}, // else the reading of the issue brings it
		"issue":      {{Route: "POST /graphql", Status: 403}},
	} {
		t.Run(name, func(t *testing.T) {
			st := newSteering(t, "b")
			st.comment("by write\n"+marker, "write")
			for _, fault := range faults {
				st.server.Inject(fault)
			}
			s, err := clientOf(t, st.server, botLogin).TakeSnapshot(t.Context(), ghsync.SnapshotSpec{Repo: octoWidgets, Issue: st.n, CutOff: st.now})
			if err == nil {
				t.Errorf("%s: snapshot %+v", name, s)
			}
		})
	}
}

func TestSnapshotTakesEveryTitleThatGitHubTakes(t *testing.T) {
	st := newSteering(t, "b")
	title := strings.Repeat("題", 256)
	st.repo.EditIssue(st.n, "write", &title, nil)
	if s := st.take(st.now); s.Title.String() != title || s.Report.CutBytes != 0 {
		t.Errorf("%d bytes are cut from a title of 256 characters: %q", s.Report.CutBytes, s.Title.String())
	}
}

func TestSnapshotHidesMinimizedComments(t *testing.T) {
	st := newSteering(t, "b")
	st.repo.MinimizeComment(st.comment("off topic", "write"))
	if s := st.take(st.now); len(s.Comments) != 0 || s.Report.Comments.Hidden != 1 {
		t.Errorf("comments %+v, counts %+v", s.Comments, s.Report.Comments)
	}
}

func TestSnapshotTakesTheNewestFifty(t *testing.T) {
	st := newSteering(t, "b")
	for range 60 {
		st.comment("c", "write")
	}
	last := st.comment("last", "write")
	s := st.take(st.now)
	if len(s.Comments) != 50 || s.Comments[49].ID != last || s.Report.Comments.Older != 11 {
		t.Errorf("%d comments, counts %+v", len(s.Comments), s.Report.Comments)
	}
}

func TestSnapshotIsCapped(t *testing.T) {
	st := newSteering(t, strings.Repeat("ü", 40_000))
	title := strings.Repeat("ü", 300)
	st.repo.EditIssue(st.n, "write", &title, nil)
	for range 20 {
		st.comment(strings.Repeat("x", 20_000), "write")
	}
	s := st.take(st.now)
	total := len(s.Title.String()) + len(s.Body.String())
	for _, c := range s.Comments {
		total += len(c.Body.String())
		if len(c.Body.String()) > 8<<10 || !strings.Contains(c.Body.String(), "[cut: ") {
			t.Errorf("comment of %d bytes", len(c.Body.String()))
		}
	}
	if n := utf8.RuneCountInString(s.Title.String()); n > 256 || !strings.Contains(s.Title.String(), "[cut: ") {
		t.Errorf("title of %d characters", n)
	}
	if c := s.Report.Comments; len(s.Comments) != 7 || c.Used != 7 || c.Older != 13 {
		t.Errorf("%d comments, counts %+v", len(s.Comments), c)
	}
	if raw := 600 + 80_000 + 20*20_000; s.Report.CutBytes < raw-total || s.Report.CutBytes > raw {
		t.Errorf("%d bytes cut, %d of %d are left", s.Report.CutBytes, total, raw)
	}
	if len(s.Body.String()) > 64<<10 || !strings.Contains(s.Body.String(), "[cut: ") || total > 128<<10 || s.Report.CutBytes == 0 {
		t.Errorf("body %d bytes, total %d, report %+v", len(s.Body.String()), total, s.Report)
	}
}

func sumOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

func TestSnapshotSaysWhatWasHidden(t *testing.T) {
	deep := "x &#65;"
	for range 12 {
		deep = strings.ReplaceAll(deep, "&", "&#&#51;8;")
	}
	for body, want := range map[string][2]bool{"plain": {}, strings.Repeat("a\u200b", 65): {true, false}, deep: {false, true}} {
		st := newSteering(t, body)
		st.comment("fine", "write")
		if s := st.take(st.now); s.Report.Suspicious != want[0] || s.Report.Refused != want[1] {
			t.Errorf("%.20q: report %+v", body, s.Report)
		}
	}
}

func TestDigestNamesTheCleanedText(t *testing.T) {
	st := newSteering(t, "Please\u200b retry.")
	id := st.comment("yes <&>", "write")
	first, second := st.take(st.now), st.take(st.now)
	canonical := fmt.Sprintf(`{"body":"Please retry.","comments":[{"author":"write","body":"yes <&>","id":%d}],"title":"Add retry"}`, id)
	if want := sumOf("agentmux-snapshot/1\n" + canonical); first.Digest != want {
		t.Errorf("digest %s, want %s", first.Digest, want)
	}
	if first.Raw.Comments[fmt.Sprint(id)] != sumOf("yes <&>") {
		t.Errorf("raw sums %+v", first.Raw)
	}
	if first.Digest != second.Digest || len(first.Digest) != 64 {
		t.Errorf("digests %s, %s", first.Digest, second.Digest)
	}
	body := "Please retry."
	st.repo.EditIssue(st.n, "read", nil, &body)
	if s := st.take(st.now); s.Digest != first.Digest {
		t.Error("an edit that changes nothing visible changed the digest")
	}
	if first.Edited("Add  retry", "Please\u200b retry.") || !first.Edited("Add  retry", sanitize.Raw(body)) {
		t.Error("the raw text is not told apart")
	}
	body = "Please do not retry."
	st.repo.EditIssue(st.n, "read", nil, &body)
	if s := st.take(st.now); s.Digest == first.Digest {
		t.Error("another text has the same digest")
	}
}

func TestSnapshotSurvivesItsFile(t *testing.T) {
	st := newSteering(t, "b")
	st.comment("c", "write")
	s := st.take(st.now)
	data, err := s.Encode()
	if err != nil {
		t.Fatal(err)
	}
	read, err := ghsync.ParseSnapshot(data)
	if err != nil {
		t.Fatal(err)
	}
	again, err := read.Encode()
	if err != nil || string(again) != string(data) {
		t.Errorf("%v\n%s\n%s", err, data, again)
	}
	if _, err := ghsync.ParseSnapshot([]byte(`{"v":2}`)); err == nil {
		t.Error("a newer snapshot was read")
	}
}

func TestSnapshotOfAPlainIssueIsOneRequest(t *testing.T) {
	st := newSteering(t, "b")
	st.take(st.now)
	if n := st.server.Requests(botLogin); n != 1 {
		t.Errorf("%d requests:\n%s", n, st.server.Transcript())
	}
}

func TestCommandsAreTheFirstLineOnly(t *testing.T) {
	for body, want := range map[sanitize.Raw]bool{
		"/agentmux": true, "/agentmux stop": true, "\n\n/agentmux say x": true, "/agentmux\tstop": true, "/agentmux\r\nmore": true,
		"/agentmuxx": false, " /agentmux stop": false, "> /agentmux stop": false, "text\n/agentmux stop": false, "": false, "```\n/agentmux\n```": false,
	} {
		t.Run(string(body), func(t *testing.T) {
			if got := ghsync.IsCommand(body); got != want {
				t.Errorf("%q: %v", body, got)
			}
		})
	}
}
