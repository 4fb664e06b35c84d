package project_test

import (
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"github.com/agentmux/agentmux/bot/config"
	"github.com/agentmux/agentmux/bot/project"
	"github.com/agentmux/agentmux/ghsync"
	"github.com/agentmux/agentmux/internal/gitrepo/remote"
)

// The sessions of a managed project go on with what its store has, whatever the repository is called now, and by whichever
// way the project is opened.
func TestAManagedProjectKeepsItsStore(t *testing.T) {
	t.Setenv("GIT_CONFIG_GLOBAL", "/nope")
	c, problems := config.Load(config.Sources{Home: "/"})
	if err := problems.Err(); err != nil {
		t.Fatal(err)
	}
	for name, stores := range map[string]string{"beside it": "", "elsewhere": t.TempDir()} {
		t.Run(name, func(t *testing.T) {
			o := project.Opener{
				Self: "/self", StateHome: t.TempDir(), Stores: stores, Server: "https://git.example:8443", Log: slog.New(slog.DiscardHandler), Located: &project.Located{},
			}
			before, err := o.Managed(t.Context(), ghsync.Repo{Owner: "Acme", Name: "Widgets"}, c)
			if err != nil {
				t.Fatal(err)
			}
			root := o.StateHome
			if stores != "" {
				root = stores
			}
			if want := filepath.Join(root, "git.example_8443", "acme", "widgets.git"); before.Store.Dir() != want {
				t.Errorf("the store is %s, want %s", before.Store.Dir(), want)
			}
			names := []byte(`{"version":1,"id":7,"names":["Acme/Widgets","umbrella/gadgets"]}`)
			if err := os.WriteFile(filepath.Join(before.Clone.Root, project.NamesFile), names, 0o600); err != nil {
				t.Fatal(err)
			}
			after, err := o.ManagedIn(t.Context(), before.Clone.Root, ghsync.Repo{Owner: "umbrella", Name: "gadgets"}, c)
			if err != nil {
				t.Fatal(err)
			}
			again, err := o.Reopen(t.Context(), before.Clone.Root, c)
			if err != nil {
				t.Fatal(err)
			}
			for _, p := range []*project.Project{after, again} {
				if p.Store.Dir() != before.Store.Dir() || p.Repo.String() != "umbrella/gadgets" || p.Remote.URL != "https://git.example:8443/umbrella/gadgets.git" {
					t.Errorf("%s of %s at %s, want the store %s", p.Store.Dir(), p.Repo, p.Remote.URL, before.Store.Dir())
				}
			}
		})
	}
}

// Git of a bot or a job takes the same way to the server as the person's own: by the proxy and with
// the certificates of the global configuration. Its commits are the account's.
func TestAManagedProjectTakesTheWayOfTheGlobalConfiguration(t *testing.T) {
	global := filepath.Join(t.TempDir(), "gitconfig")
	text := "[user]\n\tname = Mia\n\temail = mia@example.com\n[http]\n\tproxy = http://proxy.test:1\n\tsslCAInfo = /ca\n\tsslBackend = gnutls\n\tversion = HTTP/1.1\n"
	if err := os.WriteFile(global, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("GIT_CONFIG_GLOBAL", global)
	c, problems := config.Load(config.Sources{Home: "/"})
	if err := problems.Err(); err != nil {
		t.Fatal(err)
	}
	o := project.Opener{Self: "/self", StateHome: t.TempDir(), Log: slog.New(slog.DiscardHandler), Located: &project.Located{}}
	p, err := o.Managed(t.Context(), ghsync.Repo{Owner: "acme", Name: "widgets"}, c)
	if err != nil {
		t.Fatal(err)
	}
	want := remote.UserConfig{Proxy: "http://proxy.test:1", CAInfo: "/ca", Backend: "gnutls", Version: "HTTP/1.1"}
	if p.User != want || p.Remote.Config != want {
		t.Errorf("%+v, %+v", p.User, p.Remote.Config)
	}
}
