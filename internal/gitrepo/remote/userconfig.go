package remote

import (
	"context"
	"fmt"
	"strings"

	"github.com/agentmux/agentmux/internal/gitrepo/git"
)

// UserConfig is what is taken from a person's global git configuration, and nothing
// else is.
type UserConfig struct {
	Name, Mail string
	// Proxy, CAInfo, Backend and Version are http.proxy, http.sslCAInfo,
	// http.sslBackend and http.version.
	Proxy, CAInfo, Backend, Version string
}

// ReadUserConfig reads the person's global configuration. A missing file is an empty
// configuration.
func ReadUserConfig(ctx context.Context) (UserConfig, error) {
	var u UserConfig
	c := git.Call{Dir: "/", Personal: true, Args: []string{
		"config", "--global", "--includes", "-z", "--get-regexp",
		`^(user\.(name|email)|http\.(proxy|sslcainfo|sslbackend|version))$`,
	}}
	out, err := c.Run(ctx)
	if code := git.ExitCode(err); code == 1 || (code > 1 && git.Says(err, "No such file")) {
		return u, nil
	}
	if err != nil {
		return u, fmt.Errorf("read the global git configuration: %w", err)
	}
	into := map[string]*string{
		"user.name": &u.Name, "user.email": &u.Mail, "http.proxy": &u.Proxy,
		"http.sslcainfo": &u.CAInfo, "http.sslbackend": &u.Backend, "http.version": &u.Version,
	}
	for _, rec := range git.Records(out) {
		key, value, _ := strings.Cut(rec, "\n")
		if p := into[key]; p != nil {
			*p = value
		}
	}
	return u, nil
}

// network is the part of the configuration that a call over the network to a server is given.
// What decides where the token travels is always said: in general, and for the server, because
// the closer word counts, wherever it is written.
func (u UserConfig) network(server string) []string {
	var config []string
	for _, at := range []string{"http.", "http." + server + "."} {
		config = append(config, at+"proxy="+u.Proxy, at+"sslVerify=true", at+"extraHeader=", at+"cookieFile=")
	}
	for _, kv := range [][2]string{
		{"http.sslCAInfo", u.CAInfo}, {"http.sslBackend", u.Backend}, {"http.version", u.Version},
	} {
		if kv[1] != "" {
			config = append(config, kv[0]+"="+kv[1])
		}
	}
	return config
}
