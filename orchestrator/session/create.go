package session

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/agentmux/agentmux/internal/crash"
	"github.com/agentmux/agentmux/internal/durable"
	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/decide"
	"github.com/agentmux/agentmux/workflows"
	"github.com/agentmux/agentmux/workflows/artifact"
)

// CreateSpec says what session to make. The launcher fills State with what it
// knows (kind, settings, repository, base, issue, flags); everything that follows
// from the name, the definition and the moment is set by Create.
type CreateSpec struct {
	Project string    // directory the session is made in
	Now     time.Time // its location decides the name's time stamp
	Name    string    // given by a person, used as it is; empty = derived
	Source  string    // what the name is derived from: a prompt, a file's stem, an issue's title
	Request string    // what to do, for requirements.md

	Definition   []byte            // definition.yaml, frozen
	Agents       []byte            // agents.yaml, for kind agents instead of Definition
	Files        map[string][]byte // others, by path: issue_snapshot.json, mirror_state.json of the ticket, blobs
	Context      string            // context.md; empty = Create writes one
	BranchPrefix string
	// Branch reports whether a branch is free, and keeps it for an identity. May be nil.
	Branch func(branch, identity string) (free bool, err error)

	// Unless is asked right before the session is made, while no other Create that asks can
	// make one in the project. Its error ends Create. May be nil.
	Unless func() error

	State orchestrator.State

	// Note is told of the session before it exists: its identity, its secret and its directory. Nil
	// for one that will not be continued.
	Note func(identity, secret, dir string) error

	Disk durable.Disk // what the session is written through; zero = the disk of this machine
}

// FirstSeq is the Seq of a state that Create made, until a host commits to it.
const FirstSeq = 2

// turnWait is how long a Create waits for others that make their sessions. It covers
// their questions to the server.
const turnWait = time.Minute

// Create makes a session and returns it with its lock held, its first two
// records written and its state at the first phase that applies, which no host
// has entered yet. A killed Create leaves either the whole session or a
// directory that no listing shows. The error is ErrBlankRequest or a *NameError
// for what the caller can correct.
func Create(spec CreateSpec) (*Session, error) {
	spec.Request = plainText(spec.Request)
	if strings.TrimSpace(spec.Request) == "" && len(spec.Agents) == 0 {
		return nil, ErrBlankRequest
	}
	if spec.Name != "" && !ValidName(spec.Name) {
		return nil, &NameError{Name: spec.Name}
	}
	project, err := filepath.Abs(spec.Project)
	if err != nil {
		return nil, fmt.Errorf("create session: %w", err)
	}
	spec.Project = project
	if err := PrepareProject(spec.Disk, project); err != nil {
		return nil, fmt.Errorf("create session: %w", err)
	}
	if spec.Unless != nil {
		turn, err := spec.Disk.LockWithin(filepath.Join(Dir(project), turnFile), "", turnWait)
		if err != nil {
			return nil, fmt.Errorf("create session: %w", err)
		}
		defer func() { _ = turn.Close() }() // ends with the process at the latest
		if err := spec.Unless(); err != nil {
			return nil, err
		}
	}
	for n := 1; ; n++ {
		s, err := createNamed(spec, spec.name(n))
		if err == nil {
			return s, nil
		}
		if !errors.Is(err, fs.ErrExist) {
			return nil, fmt.Errorf("create session: %w", err)
		}
		if spec.Name != "" {
			return nil, &NameError{Name: spec.Name, Taken: true}
		}
	}
}

// plainText drops what editors put around the lines of a text: it would show in the subject
// of a commit.
func plainText(text string) string {
	return strings.ReplaceAll(strings.TrimPrefix(text, "\ufeff"), "\r\n", "\n")
}

func (spec CreateSpec) name(n int) string {
	if spec.Name != "" {
		return spec.Name
	}
	slug := Slug(spec.Source)
	if spec.State.IssueNumber > 0 {
		slug = IssueSlug(spec.State.IssueNumber, spec.Source)
	}
	return numbered(Name(spec.Now, slug), n)
}

func numbered(name string, n int) string {
	if n == 1 {
		return name
	}
	return fmt.Sprintf("%s-%d", name, n)
}

// PrepareProject makes the directory of a project's sessions, ignored by git.
func PrepareProject(disk durable.Disk, project string) error {
	if err := CheckLinks(project); err != nil {
		return err
	}
	if err := disk.MkdirAll(Dir(project)); err != nil {
		return err
	}
	if !Ignored(project) { // the deepest file goes before those of the repository
		if err := disk.Create(filepath.Join(Dir(project), ignoreFile), []byte("*\n")); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
	}
	// It leaves itself out, too: git status is as it was before the run.
	err := disk.Create(filepath.Join(project, projectDir, ignoreFile), []byte(strings.Join(append(Unshared(), "/"+ignoreFile), "\n")+"\n"))
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	return err
}

// createNamed makes the session under a name, or fails with fs.ErrExist if the
// name is taken.
func createNamed(spec CreateSpec, name string) (*Session, error) {
	final := filepath.Join(Dir(spec.Project), name)
	if _, err := os.Lstat(final); err == nil {
		return nil, fs.ErrExist
	}
	temp, err := tempDir(spec.Disk, final)
	if err != nil {
		return nil, err
	}
	held, err := fill(temp, final, spec)
	if err == nil {
		crash.Point("note session", "")
		err = spec.Disk.Publish(temp, final)
	}
	if err != nil {
		if held != nil {
			err = errors.Join(err, held.Close())
		}
		return nil, errors.Join(err, os.RemoveAll(temp))
	}
	s := &Session{Dir: final, disk: spec.Disk, held: held}
	if err := s.take(); err != nil {
		return nil, errors.Join(err, s.Release())
	}
	return s, nil
}

// tempDir makes the directory a session is made in. A launcher that was killed may have left
// one under the number of this process, which says nothing about the session's name.
func tempDir(disk durable.Disk, final string) (string, error) {
	for n := 1; ; n++ {
		temp := numbered(fmt.Sprintf("%s.tmp-%d", final, os.Getpid()), n)
		if err := disk.Mkdir(temp); !errors.Is(err, fs.ErrExist) {
			return temp, err
		}
	}
}

// fill writes every file of a new session into temp, the state last.
func fill(temp, final string, spec CreateSpec) (*durable.Held, error) {
	state, def, err := newState(final, spec)
	if err != nil {
		return nil, err
	}
	if spec.Context == "" {
		spec.Context = contextText(final, def)
	}
	files := firstFiles(spec)
	for _, dir := range firstDirs(spec.State.Kind) {
		if err := spec.Disk.Mkdir(filepath.Join(temp, dir)); err != nil {
			return nil, err
		}
	}
	for _, f := range files {
		if err := spec.Disk.Replace(filepath.Join(temp, f.name), f.data); err != nil {
			return nil, err
		}
	}
	// The request is kept in a second place: see Mend.
	if err := spec.Disk.Replace(filepath.Join(temp, BlobsDir, hash(files[0].data)), files[0].data); err != nil {
		return nil, err
	}
	if err := spec.Disk.Replace(filepath.Join(temp, CreatedLog), seedCreated(files, spec.Now)); err != nil {
		return nil, err
	}
	held, err := lock(spec.Disk, filepath.Join(temp, LockFile), 0)
	if err != nil {
		return nil, err
	}
	if spec.Note != nil {
		// A note without a session is harmless; a session without its note is refused.
		if err := spec.Note(state.Identity, state.Noted, final); err != nil {
			return held, err
		}
	}
	return held, firstCommit(temp, state, spec)
}

type namedFile struct {
	name string
	data []byte
}

func firstFiles(spec CreateSpec) []namedFile {
	files := []namedFile{{RequirementsFile, []byte(requirementsText(spec.Request))}}
	for _, name := range slices.Sorted(maps.Keys(spec.Files)) {
		files = append(files, namedFile{name, spec.Files[name]})
	}
	files = append(files, namedFile{ContextFile, []byte(spec.Context)})
	if len(spec.Agents) > 0 {
		files = append(files, namedFile{AgentsFile, spec.Agents})
	} else {
		files = append(files, namedFile{DefinitionFile, spec.Definition})
	}
	return append(files, namedFile{ToolEvents, nil}, namedFile{Commands, nil})
}

func firstDirs(kind string) []string {
	dirs := []string{BlobsDir, LaunchesDir, TranscriptsDir, MessagesDir}
	if kind == orchestrator.KindAgents {
		dirs = append(dirs, SignalsDir, PlansDir, ChangelogsDir, MirrorsDir)
	}
	return dirs
}

func newState(final string, spec CreateSpec) (*orchestrator.State, *workflows.Definition, error) {
	st := spec.State.Clone()
	var def *workflows.Definition
	var err error
	if st.Kind == "" {
		st.Kind = orchestrator.KindPipeline
	}
	if len(spec.Agents) > 0 {
		def, err = workflows.ParseTeam(AgentsFile, spec.Agents)
	} else {
		def, err = frozen(spec.Definition)
		st.DefinitionSHA256 = hash(spec.Definition)
	}
	if err != nil {
		return nil, nil, err
	}
	name := filepath.Base(final)
	slug := FeatureSlug(name)
	st.SchemaVersion = orchestrator.SchemaVersion
	if st.Identity == "" {
		st.Identity = NewIdentity()
	}
	st.Noted = NewSecret()
	st.SessionID, st.FeatureDir, st.SessionName = name, final, tmuxSession(slug)
	st.Workflow = def.Name
	st.CreatedAt = orchestrator.At(spec.Now)
	st.UpdatedAt, st.UpdatedBy = orchestrator.Classic(spec.Now), "launcher"
	st.LastEvent = orchestrator.LastFeatureCreated
	branch, err := freeBranch(spec, slug, st.Identity)
	if err != nil {
		return nil, nil, err
	}
	st.FeatureBranch = branch
	if st.Trigger == "" {
		st.Trigger = orchestrator.Optional("cli/" + name)
	}
	if st.Integrated.Commit == "" {
		st.Integrated.Commit = st.BaseSHA
	}
	st.Visit, st.Seq = 1, FirstSeq
	st.Phase = decide.FirstPhase(def, st)
	return st, def, nil
}

func frozen(data []byte) (*workflows.Definition, error) {
	def, problems := workflows.Parse(DefinitionFile, data, workflows.Known{Frozen: true})
	return def, problems.Err()
}

func freeBranch(spec CreateSpec, slug, identity string) (string, error) {
	prefix := spec.BranchPrefix
	if prefix == "" {
		prefix = "agentmux/"
	}
	for n := 1; ; n++ {
		branch := numbered(prefix+slug, n)
		if spec.Branch == nil {
			return branch, nil
		}
		if free, err := spec.Branch(branch, identity); err != nil || free {
			return branch, err
		}
	}
}

// firstCommit writes the first two records and, last of all, the state.
func firstCommit(temp string, state *orchestrator.State, spec CreateSpec) error {
	at := orchestrator.At(spec.Now)
	label, _ := orchestrator.Label(orchestrator.LastFeatureCreated)
	record := func(seq int, data orchestrator.Record) orchestrator.Event {
		return orchestrator.Event{Seq: seq, TS: at, Type: data.Type(), Phase: state.Phase, Visit: state.Visit, Data: data}
	}
	title := state.IssueTitle
	if title == "" {
		title = orchestrator.Optional(firstLine(spec.Request))
	}
	lines, err := encodeEvents([]orchestrator.Event{
		record(1, orchestrator.SessionCreatedRecord{
			SessionID: state.SessionID, Identity: state.Identity, Name: state.SessionID, Kind: state.Kind, Workflow: state.Workflow,
			Title: string(title), Issue: state.IssueNumber, Repo: state.Repo, BaseBranch: state.BaseBranch,
			BaseSHA: state.BaseSHA, Branch: state.FeatureBranch, Interactive: state.Interactive,
			Trigger: state.Trigger, ConfigSource: state.ConfigSource,
		}),
		record(2, orchestrator.EventRecord{Event: state.LastEvent, Label: label}),
	})
	if err != nil {
		return err
	}
	data, err := state.Encode()
	if err != nil {
		return err
	}
	appendLines := func(durable.Tail) ([]byte, error) { return lines, nil }
	if err := spec.Disk.Append(filepath.Join(temp, EventsFile), appendLines); err != nil {
		return err
	}
	return spec.Disk.Replace(filepath.Join(temp, StateFile), data)
}

const maxTitle = 200

func firstLine(text string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	if runes := []rune(line); len(runes) > maxTitle {
		return string(runes[:maxTitle])
	}
	return strings.TrimSpace(line)
}

func requirementsText(request string) string {
	return "# Requirements\n\n## Initial Request\n\n" + strings.TrimSpace(request) + "\n\n## Clarifications\n"
}

// contextText tells an agent what the directory is and whose files are whose.
func contextText(dir string, def *workflows.Definition) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# Session\n\nThis session lives in `%s`. ", dir)
	b.WriteString("Agents work together through the files below and through their tools, and in no other way.\n\n")
	b.WriteString("| Phase | Role | Directory | Writes |\n|---|---|---|---|\n")
	for _, p := range def.Phases {
		roles := p.Roles
		if p.Role != "" {
			roles = []string{p.Role}
		}
		fmt.Fprintf(&b, "| %s | %s | `%s/` | %s |\n", p.ID, strings.Join(roles, ", "), p.Dir, ownFiles(p))
	}
	b.WriteString("\nEvery other file is written by the session itself. ")
	b.WriteString("`requirements.md` holds the request. A phase ends when its agent calls the tool its prompt names; nothing else ends it.\n")
	return b.String()
}

func ownFiles(p workflows.Phase) string {
	switch p.Kind {
	case workflows.KindAuthor:
		return "`" + p.Artifact + "`"
	case workflows.KindPlan:
		return "`plan.yaml`"
	case workflows.KindImplement, workflows.KindFix:
		return "the workspace"
	case workflows.KindReview:
		var files []string
		for _, role := range p.Roles {
			files = append(files, "`"+artifact.ReviewArtifact(role)+"`")
		}
		return strings.Join(files, ", ")
	default:
		return "`summary.md`"
	}
}

// seedCreated is the first content of created_files.log: the files people look
// for first, then the others by name.
func seedCreated(files []namedFile, now time.Time) []byte {
	first := []string{StateFile, RequirementsFile, ContextFile}
	rest := []string{EventsFile}
	for _, f := range files {
		if !slices.Contains(first, f.name) && !strings.HasPrefix(f.name, BlobsDir) {
			rest = append(rest, f.name)
		}
	}
	slices.Sort(rest)
	var b strings.Builder
	for _, name := range append(first, rest...) {
		b.WriteString(createdLine(now, name))
	}
	return []byte(b.String())
}
