package job

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/agentmux/agentmux/bot/request"
	"github.com/agentmux/agentmux/cmd/internal/daemon"
	"github.com/agentmux/agentmux/internal/durable"
	"github.com/agentmux/agentmux/orchestrator/session"
)

// maxArtifact bounds what is kept of a session, in bytes.
const maxArtifact = 50 << 20

// public are files at the root of a session that people may see; the others are of its host.
var public = []string{session.EventsFile, session.SnapshotFile, session.DefinitionFile, session.RequirementsFile, session.AgentsFile}

// artifactDir is where a job keeps what its next step uploads.
func artifactDir() string { return filepath.Join(filepath.Dir(ResultFile()), "artifact") }

// keep copies what a person may see of the session, redacted, and its transcripts where the job asks
// for them and the repository is private. What cannot be copied is said, and fails no job.
func (r *run) keep(ctx context.Context, repo string) {
	var errs []error
	sess, err := session.Open(r.dir)
	if err == nil {
		errs = append(errs, copyKept(sess, artifactDir(), r.finder.Redactor().Redact))
	}
	errs = append(errs, err)
	if err == nil && r.inputs.On("transcripts") && ctx.Err() == nil {
		switch private, err := r.isPrivate(ctx, repo); {
		case err != nil:
			errs = append(errs, err)
		case !private:
			r.log.Annotate(Notice, "input transcripts", "the repository is public, so transcripts are not kept: everyone could read them")
		default:
			errs = append(errs, copyTranscripts(sess, artifactDir(), r.finder.Redactor().Redact))
		}
	}
	if err := errors.Join(errs...); err != nil {
		r.log.Annotate(Warning, "artifact", r.shown(err.Error()))
	}
}

// isPrivate asks the server: the file of an event is no place to decide who may read something.
func (r *run) isPrivate(ctx context.Context, name string) (bool, error) {
	c, err := r.finder.MachineConfig()
	if err != nil {
		return false, err
	}
	repo, err := request.ParseRepo(name, os.Getenv("GITHUB_SERVER_URL"))
	if err != nil {
		return false, err
	}
	_, act, err := daemon.Reach(ctx, r.finder, c, repo)
	if err != nil {
		return false, err
	}
	read, err := act.Client.Repository(ctx, repo.Owner, repo.Name)
	return read.Private, err
}

// copyKept copies the files of a session that are made for people.
func copyKept(sess *session.Session, to string, clean func(string) string) error {
	files, _, err := sess.Kept(maxArtifact) // what is left out is too large, or not a file
	if err != nil {
		return err
	}
	var errs []error
	for name, data := range files {
		dir, _, deep := strings.Cut(name, "/")
		if deep && dir != session.BlobsDir || slices.Contains(public, name) {
			errs = append(errs, put(to, name, clean(string(data))))
		}
	}
	return errors.Join(errs...)
}

func copyTranscripts(sess *session.Session, to string, clean func(string) string) error {
	found, err := os.ReadDir(sess.Path(session.TranscriptsDir))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	errs, room := []error{err}, int64(maxArtifact)
	for _, f := range found {
		name := path.Join(session.TranscriptsDir, f.Name())
		data, err := durable.ReadRegular(sess.Dir, name, room)
		if err == nil && int64(len(data)) <= room {
			room -= int64(len(data))
			err = put(to, name, clean(string(data)))
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// put writes a file below a directory. A name that an upload refuses is left out.
func put(dir, name, text string) error {
	if strings.ContainsAny(name, "\":<>|*?\r\n") {
		return nil
	}
	file := filepath.Join(dir, filepath.FromSlash(name))
	if err := durable.MkdirAll(filepath.Dir(file)); err != nil {
		return err
	}
	return durable.Replace(file, []byte(text))
}
