package workflows

import (
	"slices"

	"github.com/agentmux/agentmux/workflows/agents"
)

// TeamPhase is the only phase of a run of an agents file.
const TeamPhase = "implementing"

// ParseTeam reads the agents file of a session. Its providers were looked at before it began.
func ParseTeam(file string, data []byte) (*Definition, error) {
	team, problems := agents.Parse(file, data, agents.Known{})
	if err := problems.Err(); err != nil {
		return nil, err
	}
	return OfTeam(team), nil
}

// OfTeam returns the definition of a run of an agents file: one phase, in which the agents of
// the team work until each of them has a marker.
func OfTeam(team *agents.Team) *Definition {
	return &Definition{
		Version: 1, Name: "agents", Start: TeamPhase, Team: team,
		Phases: []Phase{{
			ID: TeamPhase, Kind: KindTeam, Dir: "06_implementation",
			Next: map[string][]Target{OutcomeCompleted: {{To: PhaseDone}}},
		}},
	}
}

// Roles lists the roles that a workflow may start, some of them more than once.
func (d *Definition) Roles() []string {
	var roles []string
	nominates := slices.ContainsFunc(d.Phases, func(p Phase) bool { return p.Nominates })
	for _, p := range d.Phases {
		if p.Role != "" {
			roles = append(roles, p.Role)
		}
		roles = append(roles, p.DefaultRoles...)
		if nominates {
			roles = append(roles, p.Roles...)
		}
		if p.Research {
			roles = append(roles, RoleCodeResearcher, RoleWebResearcher)
		}
	}
	return roles
}
