package config_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/agentmux/agentmux/bot/config"
)

// gates lists each key that a repository may only tighten, with a strict value, a looser
// one, and the loosest that a file can say.
var gates = []struct{ key, strict, loose, loosest string }{
	{"defaults.completion.skip_final_approval", "false", "true", "true"},
	{"github.push", "false", "true", "true"},
	{"github.ready", "never", "on_pass", "on_pass"},
	{"approval.plan", "true", "false", "false"},
	{"approval.completion", "true", "false", "false"},
	{"questions.on_timeout", "park", "decide", "decide"},
	{"review.rerun", "all", "failed", "trust"},
	{"review.on_exhausted", "stop", "draft_pr", "draft_pr"},
	{"review.timeout", "10m", "20m", "0s"},
	{"implement.scope_policy", "fail", "report", "report"},
	{"agents.scope_policy", "fail", "report", "report"},
	{"msg.routing", "enforce", "warn", "warn"},
	{"limits.phase", "10m", "1h", "0"},
	{"limits.total", "1h", "2h", "0s"},
	{"limits.stall", "1m", "90s", "0s"},
	{"limits.summary", "1m", "2m", "0s"},
	{"limits.human_wait", "1h", "61m", "0s"},
	{"limits.remote", "1m", "2m", "0s"},
	{"limits.provider_wait", "1m", "2m", "0s"},
	{"limits.agent_retries", "0", "1", "1000"},
	{"limits.parallel", "1", "2", "1000"},
	{"limits.research", "1", "2", "1000"},
}

// file writes the file that sets one key.
func file(key, value string) string {
	text := "version: 2\n"
	parts := strings.Split(key, ".")
	for i, part := range parts {
		text += strings.Repeat("  ", i) + part + ":"
		if i < len(parts)-1 {
			text += "\n"
		}
	}
	return text + " " + value + "\n"
}

// A repository cannot loosen the person's gates, and a warning says so. It may tighten them. The
// person's --config may loosen them.
func TestSecurity27ARepositoryOnlyTightensGatesAndLimits(t *testing.T) {
	for _, g := range gates {
		line := strings.Count(file(g.key, ""), "\n")
		for _, c := range []struct {
			name, user, project, flag, want, layer string
			overruled                              bool
		}{
			{"looser than the person", g.strict, g.loose, "", g.strict, "user", true},
			{"loosest", g.strict, g.loosest, "", g.strict, "user", true},
			{"stricter than the person", g.loose, g.strict, "", g.strict, "project", false},
			{"stricter than the loosest", g.loosest, g.loose, "", g.loose, "project", false},
			{"the same", g.loose, g.loose, "", g.loose, "project", false},
			{"stricter than the default", "", g.strict, "", g.strict, "project", false},
			{"--config over the same", g.strict, g.strict, g.loosest, g.loosest, "--config", false},
			{"--config over a looser one", g.strict, g.loose, g.loosest, g.loosest, "--config", true},
		} {
			t.Run(g.key+"/"+c.name, func(t *testing.T) {
				files := []string{"", file(g.key, c.project), ""}
				if c.user != "" {
					files[0] = file(g.key, c.user)
				}
				if c.flag != "" {
					files[2] = file(g.key, c.flag)
				}
				conf, problems := layers(t, files[0], files[1], files[2])
				if conf == nil {
					t.Fatalf("problems: %q", problems)
				}
				value := shownValue(t, conf, g.key)
				if value.Text != c.want || value.Layer != c.layer {
					t.Errorf("%s of %s, want %s of %s", value.Text, value.Layer, c.want, c.layer)
				}
				if !c.overruled {
					if len(value.Overruled) > 0 || len(problems) > 0 {
						t.Errorf("overruled %+v, problems %q", value.Overruled, problems)
					}
					return
				}
				if len(value.Overruled) != 1 || len(problems) != 1 {
					t.Fatalf("overruled %+v, problems %q", value.Overruled, problems)
				}
				o := value.Overruled[0]
				if o.Text != c.project || o.Layer != "project" || o.File != ".agentmux/config.yaml" || o.Line != line || !strings.Contains(o.Why, "and "+c.user+" (user) is stricter") {
					t.Errorf("overruled %+v", o)
				}
				if want := fmt.Sprintf(".agentmux/config.yaml:%d: %s: %s does not count", line, g.key, c.project); !strings.HasPrefix(problems[0], want) {
					t.Errorf("problem %q, want %q", problems[0], want)
				}
			})
		}
	}
}

// A repository cannot loosen a built-in value either. A section or value that it leaves empty
// does not bring back a looser default.
func TestSecurity27ARepositoryLoosensNoDefault(t *testing.T) {
	for name, c := range map[string]struct{ user, project, key, want string }{
		"no limit":            {"", "limits: {total: 0s, parallel: 5}", "limits.total", "12h"},
		"a higher number":     {"", "limits: {total: 0s, parallel: 5}", "limits.parallel", "4"},
		"a skipped approval":  {"", "defaults: {completion: {skip_final_approval: true}}", "defaults.completion.skip_final_approval", "false"},
		"a trusted review":    {"", "review: {rerun: trust}", "review.rerun", "failed"},
		"an empty section":    {"approval: {completion: true}", "approval:", "approval.completion", "true"},
		"an empty value":      {"approval: {completion: true}", "approval: {completion: }", "approval.completion", "true"},
		"an empty limit":      {"limits: {phase: 1h}", "limits: {phase: }", "limits.phase", "1h"},
		"over an empty limit": {"limits: {phase: }", "limits: {phase: 3h}", "limits.phase", "2h"},
	} {
		t.Run(name, func(t *testing.T) {
			user := ""
			if c.user != "" {
				user = "version: 2\n" + c.user + "\n"
			}
			conf, problems := layers(t, user, "version: 2\n"+c.project+"\n", "")
			if conf == nil {
				t.Fatalf("%s: %q", c.project, problems)
			}
			if v := shownValue(t, conf, c.key); v.Text != c.want {
				t.Errorf("%s over %q: %s, want %s", c.project, c.user, v.Text, c.want)
			}
		})
	}
}

// Who is paid for what an agent does is decided outside of the repository, which chooses among those that are named there.
func TestSecurity27ARepositoryNamesNoFallbackOfItsOwn(t *testing.T) {
	for name, c := range map[string]struct{ user, project, want, why string }{
		"none is named":         {"", "roles: {coder: {fallback: [codex]}}", "", "and codex is not"},
		"one of two":            {"roles: {planner: {provider: codex}}", "roles: {coder: {fallback: [codex, opencode]}}", "", "and opencode is not"},
		"over that of a person": {"roles: {coder: {fallback: [codex]}}", "roles: {coder: {fallback: [opencode]}}", "[codex]", "and opencode is not"},
		"another role's":        {"roles: {planner: {provider: codex}}", "roles: {coder: {fallback: [codex]}}", "[codex]", ""},
		"a configured one":      {"providers: {codex: {default_model: m}}", "roles: {coder: {fallback: [codex]}}", "[codex]", ""},
		"another order":         {"roles: {coder: {fallback: [codex, opencode]}}", "roles: {coder: {fallback: [opencode, codex]}}", "[opencode, codex]", ""},
		"the default's":         {"defaults: {provider: codex}", "roles: {coder: {provider: claude, fallback: [codex]}}", "[codex]", ""},
		"fewer":                 {"roles: {coder: {fallback: [codex, opencode]}}", "roles: {coder: {fallback: []}}", "[]", ""},
	} {
		t.Run(name, func(t *testing.T) {
			user := ""
			if c.user != "" {
				user = "version: 2\n" + c.user + "\n"
			}
			conf, problems := layers(t, user, "version: 2\n"+c.project+"\n", "")
			if conf == nil {
				t.Fatalf("problems: %q", problems)
			}
			got := ""
			if list := conf.Roles["coder"].Fallback; list != nil {
				got = "[" + strings.Join(list, ", ") + "]"
			}
			if got != c.want {
				t.Errorf("%s over %q: %s, want %s", c.project, c.user, got, c.want)
			}
			if c.why == "" && len(problems) > 0 || c.why != "" && (len(problems) != 1 || !strings.HasPrefix(problems[0], ".agentmux/config.yaml:2: roles.coder.fallback: ") || !strings.Contains(problems[0], c.why)) {
				t.Errorf("problems %q", problems)
			}
		})
	}
}

// Every key of the sections that hold gates and limits is in the table of this test.
func TestEveryGateHasARow(t *testing.T) {
	c, _ := layers(t, "", "", "")
	for _, v := range c.Show() {
		for _, section := range []string{"approval.", "questions.", "review.", "limits.", "defaults.completion.", "implement."} {
			if strings.HasPrefix(v.Path, section) && !slices.ContainsFunc(gates, func(g struct{ key, strict, loose, loosest string }) bool { return g.key == v.Path }) {
				t.Errorf("no row for %s", v.Path)
			}
		}
	}
}

// A mistake stays an error: it does not count as a looser value that is ignored.
func TestAWrongValueOfAGateIsAnError(t *testing.T) {
	for _, text := range []string{
		"limits: {phase: soon}", "limits: {phase: -1h}", "limits: {parallel: many}", "limits: {parallel: 0}", "limits: 7", "review: {rerun: sometimes}",
		"review: {rerun: [trust]}", "approval: {plan: maybe}", "approval: {plan: 0}", "questions: {on_timeout: }\nquestionss: {}", "limits: {phase: 5}",
	} {
		t.Run(text, func(t *testing.T) {
			if c, problems := layers(t, "version: 2\nlimits: {parallel: 2}\n", "version: 2\n"+text+"\n", ""); c != nil {
				t.Errorf("accepted, problems %q", problems)
			}
		})
	}
}

func TestSecurity27ARepositoryOnlyAddsProtectedPaths(t *testing.T) {
	builtIn := []string{".github/**", ".agentmux/**", "CODEOWNERS"}
	for name, c := range map[string]struct {
		user, project, flag string
		want                []string
		layer, addsTo       string
	}{
		"to the default":  {"", "[zzz]", "", append(slices.Clone(builtIn), "zzz"), "project", "built-in"},
		"to the person's": {"[mine]", "[zzz, mine]", "", []string{"mine", "zzz"}, "project", "user"},
		"an empty list":   {"[mine]", "[]", "", []string{"mine"}, "project", "user"},
		"nothing":         {"[mine]", "", "", []string{"mine"}, "user", ""},
		"no file":         {"", "", "", builtIn, "built-in", ""},
		"below --config":  {"[mine]", "[zzz]", "[other]", []string{"other"}, "--config", ""},
	} {
		t.Run(name, func(t *testing.T) {
			files := make([]string, 3)
			for i, list := range []string{c.user, c.project, c.flag} {
				if list != "" {
					files[i] = file("github.protected_paths", list)
				}
			}
			conf, problems := layers(t, files[0], files[1], files[2])
			if len(problems) > 0 {
				t.Fatalf("%+v: %q", c, problems)
			}
			v := shownValue(t, conf, "github.protected_paths")
			if !slices.Equal(conf.GitHub.ProtectedPaths, c.want) || v.Layer != c.layer || v.AddsTo != c.addsTo {
				t.Errorf("%+v: %q of %s added to %q", c, conf.GitHub.ProtectedPaths, v.Layer, v.AddsTo)
			}
		})
	}
	// An empty value adds nothing and removes nothing.
	if c, _ := layers(t, file("github.protected_paths", "[mine]"), file("github.protected_paths", ""), ""); !slices.Equal(c.GitHub.ProtectedPaths, []string{"mine"}) {
		t.Errorf("empty: %q", c.GitHub.ProtectedPaths)
	}
}

func shownValue(t *testing.T, c *config.Config, key string) config.Value {
	t.Helper()
	for _, v := range c.Show() {
		if v.Path == key {
			return v
		}
	}
	t.Fatalf("no %s", key)
	return config.Value{}
}
