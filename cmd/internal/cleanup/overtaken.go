package cleanup

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/agentmux/agentmux/bot/host"
	"github.com/agentmux/agentmux/cmd/internal/console"
	"github.com/agentmux/agentmux/cmd/internal/site"
	"github.com/agentmux/agentmux/internal/gitrepo/workspace"
	"github.com/agentmux/agentmux/orchestrator/session"
)

// overtaken is a directory that was put aside because its session went on elsewhere. Its work that was not handed in was
// kept below the preserved refs then.
type overtaken struct {
	name, dir string
	at        time.Time // when it was changed last
	size      int64
}

// conditionOvertaken is what a listing says of one.
const conditionOvertaken = "overtaken"

// overtakenIn lists those of a project that were not changed for an age, in the order of their names.
func overtakenIn(project string, age Age) (found []overtaken) {
	dir := session.Dir(project)
	all, _ := os.ReadDir(dir) // absent: no session was ever made
	for _, d := range all {
		info, err := d.Info()
		if err != nil || !d.IsDir() || !strings.Contains(d.Name(), session.OvertakenMark) || time.Since(info.ModTime()) < time.Duration(age) {
			continue
		}
		one := overtaken{name: d.Name(), dir: filepath.Join(dir, d.Name()), at: info.ModTime()}
		_ = filepath.WalkDir(one.dir, func(_ string, f fs.DirEntry, err error) error {
			if err != nil || !f.Type().IsRegular() {
				return nil
			}
			if info, err := f.Info(); err == nil {
				one.size += info.Size()
			}
			return nil
		})
		found = append(found, one)
	}
	return found
}

// removeOvertaken removes them, and names the refs that their work is kept in. One whose work cannot be named stays.
func removeOvertaken(ctx context.Context, a *site.Finder, s *site.Site, all []overtaken, out *Report) {
	removed := 0
	for _, o := range all {
		kept, err := host.Elsewhere{Host: s.Host}.Preserved(ctx, o.dir, s.Config)
		if err == nil {
			err = workspace.Remove(o.dir)
		}
		if err != nil {
			a.Say("%s stays: %v", o.name, err)
			out.Stays = append(out.Stays, stayingJSON{o.name, a.Shown()(err.Error())})
			continue
		}
		one := cleanedJSON{o.name, conditionOvertaken, o.at, o.size, []keptJSON{}}
		for _, ref := range kept.Kept {
			a.Say("%s: its work that was not handed in stays; git fetch %s %s", o.name, kept.Repo, ref)
			one.Kept = append(one.Kept, keptJSON{kept.Repo, ref})
		}
		out.Removed = append(out.Removed, one)
		removed++
	}
	if removed > 0 {
		a.Say("removed %s", console.Counted(removed, "overtaken directory", "overtaken directories"))
	}
}

// line shows one before it is removed.
func (o overtaken) line() string {
	return fmt.Sprintf("%s  %s  %s  %s", o.name, conditionOvertaken, o.at.Local().Format(time.DateOnly), sizeText(o.size))
}
