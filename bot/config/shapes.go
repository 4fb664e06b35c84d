package config

import (
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/agentmux/agentmux/internal/document"
)

// shape is the form of a text, and how it is called.
type shape struct {
	fits func(string) bool
	want string
}

func matching(expr string) func(string) bool { return regexp.MustCompile(expr).MatchString }

// shapes lists the keys whose text, or whose items, must have a form.
var shapes = sync.OnceValue(func() map[string]shape {
	file := shape{isPlace, "an absolute path or one that begins with ~/"}
	glob := shape{isGlob, "a path from the top of the repository, with *, ?, [a-z] and ** as signs"}
	return map[string]shape{
		"defaults.workflow": {matching(`^[a-z0-9][a-z0-9-]{0,29}$`), "a workflow's name"},
		"github.host":       {matching(`^[A-Za-z0-9][A-Za-z0-9.-]*(:[0-9]{1,5})?$`), "a host name without scheme"},
		"github.branch_prefix": {
			matching(`^([A-Za-z0-9_][A-Za-z0-9_-]*(\.[A-Za-z0-9_-]+)*/)*[A-Za-z0-9_-]*$`), "the start of a branch name, as agentmux/"},
		// An older App has a number.
		"github.app.client_id": {matching(`^[A-Za-z0-9._-]+$`), "the client id of a GitHub App"},
		"github.app.key_file":  file,
		// A link is compared as it is written, so a name may have letters of any script.
		"github.link_hosts":      {matching(`^[\pL\pN_]([\pL\pN._-]*[\pL\pN_])?(:[0-9]{1,5})?$`), "a host name without scheme and path"},
		"github.protected_paths": glob,
		// GitHub takes 50 characters, and :needs-human is appended.
		"bot.label": {matching(`^[A-Za-z0-9]([A-Za-z0-9 ._-]{0,36}[A-Za-z0-9._-])?$`), "a label's name without a colon, of at most 38 characters"},
		"bot.repos": {matching(`^[A-Za-z0-9][A-Za-z0-9-]*/[A-Za-z0-9._-]+$`), "owner/name"},
		"bot.orgs":  {matching(`^[A-Za-z0-9][A-Za-z0-9-]*$`), "an organisation's name"},
		// Those of an enterprise have an underscore. With an @, or empty, a name would match no login.
		"bot.allowed_users":       {matching(`^[A-Za-z0-9][A-Za-z0-9_-]*$`), "a login without @"},
		"bot.webhook_secret_file": file,
		// A name without a dot is not one of the internet, which is all that can be allowed.
		"sandbox.net_allow": {matching(`^(registries|[A-Za-z0-9]([A-Za-z0-9_-]*\.)+[A-Za-z0-9-]*[A-Za-z0-9](:443)?)$`),
			"registries or a host name without scheme, path and port"},
		"sandbox.ro_paths": {isPart, "a path that is absolute or begins with ~/, and is not all of / or of your home"},
		"sandbox.path":     {isSearchPath, "absolute directories with : between them"},
		"output.allow":     glob,
		"workspace.root":   file,
	}
})

func (k *checker) shape(key string) {
	n, shape := k.at(key), shapes()[key]
	if n.IsText() && !shape.fits(n.Text) {
		k.problem(key, "expected %s, found %s", shape.want, n.Found())
	}
	if n == nil {
		return
	}
	for i, item := range n.Items {
		if item.IsText() && !shape.fits(item.Text) {
			k.problem(document.Index(key, i), "expected %s, found %s", shape.want, item.Found())
		}
	}
}

// isPlace reports whether a text names a file or directory of this machine.
func isPlace(text string) bool { return path.IsAbs(text) || strings.HasPrefix(text, "~/") }

func isPart(text string) bool {
	clean := path.Clean(text)
	return isPlace(text) && clean != "/" && clean != "~"
}

// isSearchPath reports whether a text can be a PATH. A directory that is not absolute would be one
// of the repository in which an agent works.
func isSearchPath(text string) bool {
	return text == "" || !slices.ContainsFunc(strings.Split(text, ":"), func(dir string) bool { return !path.IsAbs(dir) })
}

// isGlob reports whether a pattern of paths can match one: the output gate compares it name by
// name, and takes a pattern that it cannot read for one that matches nothing.
func isGlob(pattern string) bool {
	pattern = strings.TrimSuffix(strings.TrimPrefix(pattern, "/"), "/")
	for name := range strings.SplitSeq(pattern, "/") {
		if name == "" || name == "." || name == ".." {
			return false
		}
		if _, err := path.Match(name, ""); err != nil {
			return false
		}
	}
	return true
}

// commandKeys hold the words of a command.
var commandKeys = []string{"agents.test_command", "sandbox.setup"}

func (k *checker) commands() {
	for _, key := range commandKeys {
		if n := k.at(key); n != nil && len(n.Items) > 0 && n.Items[0].IsText() && strings.TrimSpace(n.Items[0].Text) == "" {
			k.problem(document.Index(key, 0), "expected the name of a program, found %s", n.Items[0].Found())
		}
	}
}
