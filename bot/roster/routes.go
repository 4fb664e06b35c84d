package roster

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/agentmux/agentmux/internal/document"
	"github.com/agentmux/agentmux/internal/durable"
	"github.com/agentmux/agentmux/workflows/agents"
	"github.com/agentmux/agentmux/workflows/message"
)

// maxRoutes is how large a table may be.
const maxRoutes = 1 << 20

// Routes reads the table that says which agents of a run may write what to whom, from the directory
// of the project or from the key mesh of its configuration, if that is of this mesh. Without one all is
// allowed, and there may not be two. Of a run of a part of a file the table may name other agents.
// problems are those of the table, with their lines.
func Routes(project string, mesh *document.Node, team *agents.Team, part bool) (rows message.Rows, problems []string) {
	var names []string // none = any
	for i := 0; i < len(team.Agents) && !part; i++ {
		names = append(names, team.Agents[i].Name)
	}
	if of := mesh.Field("mesh"); of == nil || of.Text != team.Session {
		mesh = nil
	}
	name := message.RoutingFile(team.Session)
	data, err := durable.ReadRegular(project, filepath.FromSlash(name), maxRoutes)
	switch bad := (*durable.ArtifactError)(nil); {
	case errors.Is(err, fs.ErrNotExist):
		return checked(message.RoutingOf(mesh, "mesh", team.Session, names))
	case mesh != nil:
		p := mesh.Problem("mesh", "%s is a table of %s, too; leave out one of them", name, team.Session)
		p.Path = "mesh." + p.Path
		return nil, []string{p.String()}
	case errors.As(err, &bad):
		return nil, []string{name + " " + bad.Problem}
	case err != nil:
		return nil, []string{fmt.Sprintf("%s cannot be read: %v", name, err)}
	}
	return checked(message.ParseRouting(name, data, team.Session, names))
}

func checked(table *message.Routing, found document.Problems) (message.Rows, []string) {
	if found.Err() != nil {
		return nil, found.Lines()
	}
	return table.Rows(), nil
}
