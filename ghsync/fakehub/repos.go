package fakehub

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/agentmux/agentmux/ghsync/fakehub/bare"
)

// AddRepo adds a repository; its owner is made as an organization when unknown. A former
// name of another repository stops leading there.
func (s *Server) AddRepo(spec RepoSpec) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	full := spec.Owner + "/" + spec.Name
	if there := s.names[key(full)]; there != nil && key(there.fullName()) == key(full) {
		return fmt.Errorf("add %s: it exists already", full)
	}
	owner := s.users[key(spec.Owner)]
	if owner == nil {
		owner = &user{id: s.newID(), login: spec.Owner, kind: "Organization"}
		s.users[key(spec.Owner)] = owner
	}
	r := &repo{
		id: s.newID(), owner: owner, name: spec.Name, private: spec.Private, archived: spec.Archived,
		disabled: spec.Disabled, noIssues: spec.NoIssues, noDrafts: spec.NoDrafts,
		defaultBranch: spec.DefaultBranch, refs: map[string]string{}, roles: map[int64]Role{},
		labels: map[string]*label{}, issues: map[int]*issue{}, statuses: map[string][]*status{},
		checks: map[string][]*checkRun{}, required: map[string]bool{}, runs: map[int64]*Run{}, created: s.now(),
	}
	if r.defaultBranch == "" {
		r.defaultBranch = "main"
	}
	if spec.ForkOf != "" {
		if r.parent = s.names[key(spec.ForkOf)]; r.parent == nil {
			return fmt.Errorf("add %s: no repository %s to fork", full, spec.ForkOf)
		}
	}
	if err := s.fill(r, spec); err != nil {
		return fmt.Errorf("add %s: %w", full, err)
	}
	s.repos[r.id], s.names[key(full)] = r, r
	return nil
}

// fill gives the repository its first commits.
func (s *Server) fill(r *repo, spec RepoSpec) error {
	var err error
	if r.git, err = bare.Init(filepath.Join(s.root, strconv.FormatInt(r.id, 10)+".git"), r.defaultBranch); err != nil {
		return err
	}
	source, commits := spec.Source, spec.Commits
	if source == "" && r.parent != nil {
		source = r.parent.git.Dir
	}
	if source != "" {
		if err := r.git.Import(source); err != nil {
			return err
		}
		if err := r.readRefs(); err != nil {
			return err
		}
	} else if len(commits) == 0 {
		commits = []CommitSpec{{Message: "Initial commit", Files: map[string]string{"README.md": "# " + r.name + "\n"}}}
	}
	for _, c := range commits {
		if c.Branch == "" {
			c.Branch = r.defaultBranch
		}
		if _, err := r.commit(c, s.now()); err != nil {
			return err
		}
	}
	return nil
}

func (v viewer) repoJSON(r *repo) obj {
	role := v.roleOf(v.actor, r)
	if v.token != nil && v.token.perms != nil && !v.token.personal {
		role = Read
		if v.token.perms["contents"] == "write" {
			role = Write
		}
	}
	visibility := "public"
	if r.private {
		visibility = "private"
	}
	body := obj{
		"id": r.id, "node_id": nodeID("R", r.id), "name": r.name, "full_name": r.fullName(), "owner": v.userJSON(r.owner),
		"private": r.private, "visibility": visibility, "fork": r.parent != nil, "archived": r.archived,
		"disabled": r.disabled, "has_issues": !r.noIssues, "default_branch": r.defaultBranch,
		"html_url": v.URL() + "/" + r.fullName(), "clone_url": v.URL() + "/" + r.fullName() + ".git",
		"url": v.url("repos", r.fullName()), "description": nil, "permissions": role.flags(),
		"created_at": stamp(r.created), "updated_at": stamp(r.created), "pushed_at": stamp(r.created),
		"open_issues_count": r.openIssues(), "is_template": false, "allow_forking": true, "has_projects": true,
		"has_wiki": true, "has_discussions": false, "topics": []string{}, "size": 1,
	}
	if r.parent != nil {
		body["parent"] = v.repoJSON(r.parent)
		body["source"] = body["parent"]
	}
	return body
}

func (r *repo) openIssues() int {
	n := 0
	for _, i := range r.issues {
		if i.state == "open" {
			n++
		}
	}
	return n
}

func getRepo(c *call) reply { return ok(c.repoJSON(c.repo)) }

func getBranch(c *call) reply {
	name := c.params["branch"]
	sha := c.repo.refs["refs/heads/"+name]
	if sha == "" {
		return fail(http.StatusNotFound, "Branch not found")
	}
	return ok(obj{
		"name": name, "protected": false, "commit": obj{"sha": sha, "url": c.url("repos", c.repo.fullName(), "commits", sha)},
	})
}

func getRef(c *call) reply {
	ref := "refs/" + c.params["ref"]
	sha := c.repo.refs[ref]
	if sha == "" {
		return notFound()
	}
	return ok(obj{
		"ref": ref, "node_id": nodeID("REF", c.repo.id), "url": c.url("repos", c.repo.fullName(), "git", ref),
		"object": obj{"type": "commit", "sha": sha, "url": c.url("repos", c.repo.fullName(), "git/commits", sha)},
	})
}

// resolve finds the commit a branch, ref or id names, "" for none.
func (r *repo) resolve(name string) string {
	for _, prefix := range []string{"refs/heads/", "refs/tags/", "refs/", ""} {
		if sha := r.refs[prefix+name]; sha != "" {
			return sha
		}
	}
	if len(name) < 7 || strings.Trim(name, "0123456789abcdef") != "" {
		return ""
	}
	sha, err := r.git.Run("rev-parse", "-q", "--verify", "--end-of-options", name+"^{commit}")
	if err != nil {
		return ""
	}
	return sha
}

// countCommits is the number of commits reachable from head and not from base.
func (r *repo) countCommits(base, head string) int {
	out, err := r.git.Run("rev-list", "--count", "--end-of-options", base+".."+head)
	if err != nil {
		return 0
	}
	n, _ := strconv.Atoi(out) // git prints a number
	return n
}

func getCompare(c *call) reply {
	base, head, found := strings.Cut(c.params["range"], "...")
	head = strings.TrimPrefix(head, c.repo.owner.login+":")
	baseSHA, headSHA := c.repo.resolve(base), c.repo.resolve(head)
	if !found || baseSHA == "" || headSHA == "" {
		return notFound()
	}
	ahead, behind := c.repo.countCommits(baseSHA, headSHA), c.repo.countCommits(headSHA, baseSHA)
	status := map[[2]bool]string{
		{false, false}: "identical", {true, false}: "ahead", {false, true}: "behind", {true, true}: "diverged",
	}[[2]bool{ahead > 0, behind > 0}]
	commits, files := []any{}, []any{}
	if list, err := c.repo.git.Run("rev-list", "--reverse", "--max-count=250", baseSHA+".."+headSHA); err == nil {
		for sha := range strings.FieldsSeq(list) {
			commits = append(commits, c.commitJSON(c.repo, sha))
		}
	}
	if names, err := c.repo.git.Run("diff", "--name-only", baseSHA+"..."+headSHA); err == nil && names != "" {
		for name := range strings.SplitSeq(names, "\n") {
			files = append(files, obj{"filename": name, "status": "modified"})
		}
	}
	return ok(obj{
		"status": status, "ahead_by": ahead, "behind_by": behind, "total_commits": ahead, "commits": commits, "files": files,
		"html_url":    c.URL() + "/" + c.repo.fullName() + "/compare/" + base + "..." + head,
		"base_commit": c.commitJSON(c.repo, baseSHA), "url": c.url("repos", c.repo.fullName(), "compare", c.params["range"]),
	})
}

func (v viewer) commitJSON(r *repo, sha string) obj {
	const format = "%an%x00%ae%x00%aI%x00%cn%x00%ce%x00%cI%x00%T%x00%P%x00%B"
	out, err := r.git.Run("show", "-s", "--format="+format, sha)
	parts := strings.SplitN(out, "\x00", 9)
	if err != nil || len(parts) != 9 {
		return obj{"sha": sha}
	}
	parents := []any{}
	for parent := range strings.FieldsSeq(parts[7]) {
		parents = append(parents, obj{"sha": parent, "url": v.url("repos", r.fullName(), "commits", parent)})
	}
	return obj{
		"sha": sha, "node_id": nodeID("C", r.id), "url": v.url("repos", r.fullName(), "commits", sha),
		"html_url": v.URL() + "/" + r.fullName() + "/commit/" + sha, "parents": parents, "author": nil, "committer": nil,
		"commit": obj{
			"message": parts[8], "tree": obj{"sha": parts[6]},
			"author":    obj{"name": parts[0], "email": parts[1], "date": parts[2]},
			"committer": obj{"name": parts[3], "email": parts[4], "date": parts[5]},
		},
	}
}

func getCommit(c *call) reply {
	sha := c.repo.resolve(c.params["sha"])
	if sha == "" {
		return fail(http.StatusUnprocessableEntity, "No commit found for SHA: "+c.params["sha"])
	}
	return ok(c.commitJSON(c.repo, sha))
}

// getContents answers for a file; directories are not needed.
func getContents(c *call) reply {
	ref := c.query.Get("ref")
	if ref == "" {
		ref = c.repo.defaultBranch
	}
	sha := c.repo.resolve(ref)
	if sha == "" {
		return fail(http.StatusNotFound, "No commit found for the ref "+ref)
	}
	path := c.params["path"]
	id, err := c.repo.git.Run("rev-parse", "-q", "--verify", "--end-of-options", sha+":"+path)
	if err != nil {
		return notFound()
	}
	data, err := c.repo.git.Read("cat-file", "blob", id)
	if err != nil {
		return notFound()
	}
	return ok(obj{
		"type": "file", "encoding": "base64", "size": len(data), "name": path[strings.LastIndex(path, "/")+1:],
		"path": path, "sha": id, "content": base64.StdEncoding.EncodeToString(data),
		"url": c.url("repos", c.repo.fullName(), "contents", path+"?ref="+ref),
	})
}

// nodeID is an opaque global id, as GraphQL uses it.
func nodeID(kind string, id int64) string {
	return kind + "_" + base64.RawURLEncoding.EncodeToString([]byte(kind+":"+strconv.FormatInt(id, 10)))
}

// parseNodeID undoes nodeID.
func parseNodeID(text string) (kind string, id int64) {
	_, encoded, _ := strings.Cut(text, "_")
	data, err := base64.RawURLEncoding.DecodeString(encoded)
	if err != nil {
		return "", 0
	}
	kind, number, _ := strings.Cut(string(data), ":")
	id, err = strconv.ParseInt(number, 10, 64)
	if err != nil {
		return "", 0
	}
	return kind, id
}

// parseTime reads a time of a query. A wrong one is the zero time.
func parseTime(text string) time.Time {
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return time.Time{}
	}
	return at
}
