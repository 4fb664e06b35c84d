package roster

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/agentmux/agentmux/workflows/agents"
	"github.com/agentmux/agentmux/workflows/message"
)

// maxRoutes is one byte more than a table may have.
const maxRoutes = 1<<20 + 1

// Routes reads the table that says which agents of a run may write what to whom, from the directory
// of the project. A project without one allows all. Of a run of a part of a file the table may name
// other agents. problems are those of the table, with their lines.
func Routes(project string, team *agents.Team, part bool) (rows message.Rows, problems []string) {
	name := message.RoutingFile(team.Session)
	f, err := os.OpenFile(filepath.Join(project, filepath.FromSlash(name)), os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, []string{fmt.Sprintf("%s cannot be read: %v", name, errors.Unwrap(err))}
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return nil, []string{name + " is not a regular file"}
	}
	data, err := io.ReadAll(io.LimitReader(f, maxRoutes))
	if err != nil {
		return nil, []string{fmt.Sprintf("%s cannot be read: %v", name, err)}
	}
	var names []string // none = any
	for i := 0; i < len(team.Agents) && !part; i++ {
		names = append(names, team.Agents[i].Name)
	}
	table, found := message.ParseRouting(name, data, team.Session, names)
	if found.Err() != nil {
		return nil, found.Lines()
	}
	return table.Rows(), nil
}
