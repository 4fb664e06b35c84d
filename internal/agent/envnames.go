package agent

import (
	"slices"
	"strings"
)

// withheld returns the prefixes of names that no list can pass on, not even a provider's own:
// credentials of the host, variables that load other code into a program or have git run
// another command, and those of the launch itself.
func withheld() []string {
	return []string{
		"GH_", "GITHUB_", "ACTIONS_", "SSH_", "DBUS_", "TMUX", "AGENTMUX_", "NPM_", "LD_", "DYLD_", "GIT_",
		"BASH_", "PYTHON", "PERL", "RUBY", "GCONV_", "GLIBC_",
	}
}

// reserved reports whether no list can pass the name on, not even a provider's own.
func reserved(name string) bool {
	name = strings.ToUpper(name)
	if slices.ContainsFunc(withheld(), func(prefix string) bool { return strings.HasPrefix(name, prefix) }) {
		return true
	}
	switch name {
	case "CLAUDECODE", "PATH", "HOME", "USER", "SHELL",
		"ENV", "SHELLOPTS", "BASHOPTS", "PROMPT_COMMAND", "PS4", "IFS", "ZDOTDIR",
		"NODE_OPTIONS", "NODE_PATH", "JAVA_TOOL_OPTIONS", "_JAVA_OPTIONS", "JDK_JAVA_OPTIONS":
		return true
	}
	return false
}

// EnvPassable reports whether the variable may be in a provider's own list, which is the place
// for the provider's key.
func EnvPassable(name string) bool { return envForm().MatchString(name) && !reserved(name) }

// EnvAllowed reports whether configuration may pass the variable to every agent. The names are
// listed one by one, because a name does not show whether the value is a credential.
func EnvAllowed(name string) bool {
	return EnvPassable(name) && (strings.HasPrefix(name, "LC_") || slices.Contains(EnvNames(), name))
}

// EnvNames returns the names that EnvAllowed accepts, without those of the locale. They tell
// tools where they and their caches are and how to build.
func EnvNames() []string {
	return strings.Fields(`
		CI COLORTERM COLUMNS LINES LANG LANGUAGE TERM TZ NO_COLOR FORCE_COLOR CLICOLOR CLICOLOR_FORCE
		DEBIAN_FRONTEND DO_NOT_TRACK SOURCE_DATE_EPOCH
		CGO_ENABLED GO111MODULE GOAMD64 GOARCH GOARM GOARM64 GOBIN GOCACHE GODEBUG GOEXPERIMENT GOFLAGS GOMAXPROCS
		GOMEMLIMIT GOMODCACHE GONOPROXY GONOSUMDB GOOS GOPATH GOPRIVATE GOPROXY GOROOT GOSUMDB GOTMPDIR GOTOOLCHAIN
		GOTRACEBACK GOWORK
		CARGO_BUILD_JOBS CARGO_HOME CARGO_INCREMENTAL CARGO_TARGET_DIR CARGO_TERM_COLOR RUSTUP_HOME RUSTUP_TOOLCHAIN
		RUST_BACKTRACE RUST_LOG SCCACHE_DIR
		ANDROID_HOME ANDROID_NDK_HOME ANDROID_SDK_ROOT GRADLE_HOME GRADLE_USER_HOME JAVA_HOME JDK_HOME M2_HOME MAVEN_HOME
		COREPACK_HOME CYPRESS_CACHE_FOLDER FNM_DIR NODE_ENV NVM_DIR PLAYWRIGHT_BROWSERS_PATH PNPM_HOME
		PUPPETEER_CACHE_DIR VOLTA_HOME YARN_CACHE_FOLDER
		CONDA_PREFIX PIP_CACHE_DIR POETRY_CACHE_DIR POETRY_HOME PYENV_ROOT UV_CACHE_DIR VIRTUAL_ENV
		GEM_HOME RACK_ENV RAILS_ENV RBENV_ROOT
		DOTNET_CLI_TELEMETRY_OPTOUT DOTNET_ROOT NUGET_PACKAGES
		CCACHE_DIR CFLAGS CMAKE_BUILD_PARALLEL_LEVEL CMAKE_GENERATOR CPPFLAGS CXXFLAGS LDFLAGS PKG_CONFIG_PATH
		ASDF_DATA_DIR ASDF_DIR HOMEBREW_PREFIX MISE_DATA_DIR
	`)
}
