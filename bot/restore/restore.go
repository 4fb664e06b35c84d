package restore

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/agentmux/agentmux/bot/checkpoint"
	"github.com/agentmux/agentmux/bot/claim"
	"github.com/agentmux/agentmux/internal/crash"
	"github.com/agentmux/agentmux/internal/durable"
	"github.com/agentmux/agentmux/internal/gitrepo"
	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/duty"
	"github.com/agentmux/agentmux/orchestrator/session"
	"github.com/agentmux/agentmux/workflows"
)

// Spec says which session to make, and where.
type Spec struct {
	Project string // directory that the session is made in
	From    *checkpoint.Fetched
	Base    fs.FS        // the settings of its base commit; see project.Files
	Agents  [][]byte     // what its agents file may hold; none = it is not a run of one
	Host    claim.HostID // of this host, which has the claim
	// Attended says that a person at a terminal restores it, who may have the session wait for them.
	Attended bool
	Now      time.Time
	Prefix   string // of the branches of sessions
	// Note is told of the session before it exists, when all else is right.
	Note func(s *orchestrator.State, dir string) error
}

// ErrThere says that a session of the name is there already.
var ErrThere = errors.New("there is a session of that name already")

// Publish makes the directory of a session and returns it. The error is ErrThere or
// *checkpoint.RefusedError, or says why that could not be done.
func Publish(spec Spec) (dir string, err error) {
	name, s, err := read(spec.From, spec)
	if err != nil {
		return "", err
	}
	final := filepath.Join(session.Dir(spec.Project), name)
	if err := session.PrepareProject(durable.Disk{}, spec.Project); err != nil {
		return "", fmt.Errorf("restore %s: %w", name, err)
	}
	temp, err := tempDir(final)
	if err != nil {
		return "", fmt.Errorf("restore %s: %w", name, err)
	}
	if err = fill(temp, final, s, spec); err == nil {
		crash.Point("fill restored", "")
		if err = durable.Publish(temp, final); errors.Is(err, fs.ErrExist) {
			err = ErrThere
		}
	}
	if err != nil {
		return "", errors.Join(err, os.RemoveAll(temp))
	}
	crash.Point("publish restored", "")
	return final, nil
}

// tempDir makes the directory that is filled. No listing shows its name.
func tempDir(final string) (string, error) {
	for n := 1; ; n++ {
		temp := final + ".tmp-" + strconv.Itoa(os.Getpid()) + "-" + strconv.Itoa(n)
		if err := durable.Mkdir(temp); !errors.Is(err, fs.ErrExist) {
			return temp, err
		}
	}
}

// own are the directories of a session that do not travel.
var own = []string{session.BlobsDir, session.LaunchesDir, session.TranscriptsDir, session.MessagesDir}

// fill writes every file, the state last, and has the whole checked.
func fill(temp, final string, s *orchestrator.State, spec Spec) error {
	for _, dir := range own {
		if err := durable.MkdirAll(filepath.Join(temp, dir)); err != nil {
			return err
		}
	}
	for rel, data := range spec.From.Session {
		if rel == session.StateFile || rel == session.StateBackup { // the backup bears the secret of the other machine
			continue
		}
		file := filepath.Join(temp, filepath.FromSlash(rel))
		if err := durable.MkdirAll(filepath.Dir(file)); err != nil {
			return err
		}
		if err := durable.Replace(file, data); err != nil {
			return err
		}
	}
	if err := (claim.Note{Host: spec.Host, Checkpoint: spec.From.Commit}).Write(temp); err != nil {
		return err
	}
	if err := noteOf(spec).write(temp); err != nil {
		return err
	}
	s.Noted, s.FeatureDir, s.Interactive = session.NewSecret(), final, s.Interactive && spec.Attended
	if s.Gate != nil {
		s.Gate.Brought = int64(len(spec.From.Session[session.Commands])) + 1
	}
	for name, w := range s.Workspaces { // whatever lies there on this machine is not the session's
		w.Path = ""
		s.Workspaces[name] = w
	}
	data, err := s.Encode()
	if err == nil {
		err = durable.Replace(filepath.Join(temp, session.StateFile), data)
	}
	if err != nil {
		return err
	}
	if err := check(temp, spec, s.Seq); err != nil {
		return err
	}
	return spec.Note(s, final)
}

// check brings the directory to record seq, that of its state, and asks the offline checker.
func check(temp string, spec Spec, seq int) error {
	sess, err := session.Open(temp)
	if err != nil {
		return err
	}
	if err := sess.Lock(0); err != nil {
		return err
	}
	defer func() { _ = sess.Close() }() // no other process knows of it
	if s, err := sess.Recover(spec.Now); err != nil {
		return refused(spec.From, err.Error())
	} else if s.Seq != seq { // what was lost became a record of its own
		return refused(spec.From, fmt.Sprintf("it lacks records up to %d, where its state is", seq))
	}
	if problems := session.CheckDir(temp).Problems; len(problems) > 0 {
		return refused(spec.From, problems...)
	}
	return nil
}

// read returns the name of the session and its state, which agree with what the checkpoint was verified with.
func read(f *checkpoint.Fetched, spec Spec) (name string, s *orchestrator.State, err error) {
	data, ok := f.Session[session.StateFile]
	if !ok {
		return "", nil, refused(f, fmt.Sprintf("it lacks the session's state, which was left out: %q", f.LeftOut))
	}
	if s, err = orchestrator.Decode(data); err != nil {
		return "", nil, refused(f, err.Error())
	}
	var problems []string
	differ := func(what string, has, wants any) {
		if has != wants {
			problems = append(problems, fmt.Sprintf("its state has the %s %v, not %v", what, has, wants))
		}
	}
	differ("session", orchestrator.PublicID(s.SessionID, s.Identity), f.Manifest.Session)
	differ("issue", s.IssueNumber, f.Issue)
	differ("repository", string(s.Repo), f.Repo)
	differ("base", s.BaseSHA, f.Base)
	finished := duty.Finished(s)
	if parents := slices.DeleteFunc(slices.Sorted(slices.Values(f.Parents)), func(c string) bool { return c == f.Base }); !slices.Equal(parents, finished) {
		problems = append(problems, fmt.Sprintf("its state has finished the commits %q, not %q", finished, parents))
	}
	switch {
	case !session.ValidName(s.SessionID) || !session.ValidIdentity(s.Identity):
		problems = append(problems, fmt.Sprintf("%q is not the name of a session", f.Manifest.Session))
	case (s.Kind == orchestrator.KindAgents) != (len(spec.Agents) > 0):
		problems = append(problems, fmt.Sprintf("its session is of the kind %q", s.Kind))
	case s.Kind == orchestrator.KindAgents:
		problems = append(problems, ofAgents(f, s, spec)...)
	case s.Kind != orchestrator.KindPipeline:
		problems = append(problems, "its session is not of the kind that checkpoints are made of")
	case s.FeatureBranch == s.BaseBranch || !ofSession(s, spec.Prefix):
		problems = append(problems, fmt.Sprintf("its branch is %q", s.FeatureBranch))
	}
	if _, err := claim.ParseHostID(f.Manifest.Host); err != nil { // people are told of it
		problems = append(problems, fmt.Sprintf("%q is not a host", f.Manifest.Host))
	}
	for name, w := range f.Manifest.Work { // its directory is called by its base
		if at, ok := s.Workspaces[name]; ok {
			differ("workspace "+name+" at", at.Base, w.Base)
		}
	}
	for _, e := range s.Pending {
		if e.Args.Branch != "" && !slices.Contains(Branches(s), e.Args.Branch) && !isFirstCommit(f, s, e) {
			problems = append(problems, fmt.Sprintf("it owes the branch %q, which is not its own", e.Args.Branch))
		}
	}
	// What may be done, and with which prompts, is not believed of those who can push.
	if _, data, wrong := workflows.Load(s.Workflow, spec.Base); len(spec.Agents) == 0 && (wrong.Err() != nil || !bytes.Equal(data, f.Session[session.DefinitionFile])) {
		problems = append(problems, fmt.Sprintf("its workflow %q is not the one of its base commit, or of another version of agentmux", s.Workflow))
	}
	if s.Seq < f.Record {
		problems = append(problems, fmt.Sprintf("its state is at record %d, older than itself, which is at %d", s.Seq, f.Record))
	}
	if len(problems) > 0 {
		return "", nil, refused(f, problems...)
	}
	return s.SessionID, s, nil
}

// ofSession reports whether a branch is called as those of sessions are: the prefix was another one where
// the repository has its own.
func ofSession(s *orchestrator.State, prefix string) bool {
	return prefix != "" && strings.HasPrefix(s.FeatureBranch, prefix) || strings.Contains(s.FeatureBranch, session.IssueSlug(s.IssueNumber, ""))
}

func refused(f *checkpoint.Fetched, problems ...string) error {
	return &checkpoint.RefusedError{Session: f.Manifest.Session, Ref: gitrepo.FetchedRef(f.Manifest.Session), Problems: problems}
}

// Note says what the next start of a session makes again.
type Note struct {
	V          int               `json:"v"`
	Host       string            `json:"host"` // that the session comes from
	Checkpoint string            `json:"checkpoint"`
	Age        int               `json:"age"` // of it when the session was restored, in seconds
	LeftOut    []string          `json:"left_out,omitempty"`
	Work       map[string]string `json:"work"`  // the trees of workspaces, by their names
	Begun      []string          `json:"begun"` // the workspaces with work that was not handed in
	// Settled says that the session was started here. Of one that had ended no record tells it.
	Settled bool `json:"settled,omitempty"`
}

const (
	noteFile    = "restored.json"
	noteVersion = 1
	maxNote     = 1 << 20
)

func noteOf(spec Spec) Note {
	f := spec.From
	age := max(spec.Now.Sub(f.At), 0)
	n := Note{V: noteVersion, Host: f.Manifest.Host, Checkpoint: f.Commit, Age: int(age.Seconds()), LeftOut: f.LeftOut, Work: f.Trees, Begun: []string{}}
	for _, name := range slices.Sorted(maps.Keys(f.Manifest.Work)) {
		if len(f.Manifest.Work[name].Changed) > 0 {
			n.Begun = append(n.Begun, name)
		}
	}
	return n
}

func (n Note) write(dir string) error {
	data, err := json.MarshalIndent(n, "", "  ")
	if err != nil {
		return err
	}
	return durable.Replace(filepath.Join(dir, noteFile), append(data, '\n'))
}

// Read returns the note of a session that was restored, nil of any other, and whether the session has not been
// started since.
func Read(sess *session.Session) (n *Note, owed bool, err error) {
	data, err := durable.ReadRegular(sess.Dir, noteFile, maxNote)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, false, nil
	}
	n = &Note{}
	if err == nil {
		err = json.Unmarshal(data, n)
	}
	if err == nil && n.V > noteVersion {
		err = checkpoint.ErrNewer
	}
	if err != nil {
		return nil, false, fmt.Errorf("read %s: %w", sess.Path(noteFile), err)
	}
	records, _, err := sess.Events(0)
	return n, !n.Settled && !slices.ContainsFunc(records, func(e orchestrator.Event) bool {
		d, ok := e.Data.(orchestrator.MovedRecord)
		return ok && d.Checkpoint == n.Checkpoint
	}), err
}
