# Each target is one line and sets up what it needs. `make help` lists them.
FUZZTIME ?= 60s
FUZZREST ?= 10s
BENCHTIME ?= 1s
TESTFLAGS ?=
STRIDE ?= 1
FAILS ?= 1
KILLS ?= 2000
BOTKILLS ?= 500
MOVEDKILLS ?= 50
RACE ?= 200
ROUNDS ?= 1000
STORMS ?= 9
SEED ?= 1
SESSIONS ?= 200
BESIDE ?= 12
SCALE ?= 100
WALKS ?= 1000
MESSAGES ?= 10000
FLEET ?= 50
FULL ?=
SHORT ?=
MUTANTS ?=

# Packages that are tested side by side: half as many again as there are processors, since tests of sessions often wait.
PACKAGES = $$(($$(getconf _NPROCESSORS_ONLN) * 3 / 2))

STAMP = -ldflags "-X main.commit=$$(git rev-parse HEAD 2>/dev/null)"

.PHONY: help build test lint secrets demo bench fuzz test-real test-crash test-bot test-team test-power test-soak test-faults test-scale test-walks test-messages test-agents test-act test-contract show-comments test-mutants nightly simulate release-check protocol-table clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "%-14s %s\n", $$1, $$2 }' Makefile

build: ## build bin/agentmux
	go build -trimpath $(STAMP) -o bin/agentmux ./cmd/agentmux

test: ## every room and each road from one end to the other, with the race detector; with FULL=1 every whole session and every size, too
	.ci/setup cc && CGO_ENABLED=1 GORACE=atexit_sleep_ms=0 GOGC=400 .ci/ram go test -race $(if $(FULL),,-short) -vet=off -ldflags=-w -shuffle=on -p=$(PACKAGES) -timeout=40m $(TESTFLAGS) ./...

lint: ## the linters, vet for macOS, and whether each mutant builds
	go tool -modfile=.ci/tools.mod golangci-lint run && .ci/workflows && go run ./.ci/mutants/build && GOOS=darwin CGO_ENABLED=0 go vet ./...

secrets: ## gitleaks over the tree
	go tool -modfile=.ci/gitleaks.mod gitleaks dir --no-banner --redact -c .ci/gitleaks.toml .

demo: ## the bot turns an issue into a pull request, then an agents file, then agents that write to one another: scripted agents, a GitHub on loopback
	@.ci/setup && go build $(STAMP) -o bin/agentmux ./cmd/agentmux && bin/agentmux demo && bin/agentmux demo --agents && exec bin/agentmux demo --mesh

bench: ## the benchmarks but SKIP (a pattern) as text that benchstat reads, one with FLEET sessions ("50 200": with each), and a table at the end
	@.ci/setup && AGENTMUX_BENCH_FLEET="$(FLEET)" .ci/ram .ci/bench $(BENCHTIME) '$(SKIP)'

fuzz: ## the parsers of what others write for FUZZTIME each, the other fuzz targets for FUZZREST
	@.ci/setup && .ci/fuzz $(FUZZTIME) $(FUZZREST)

test-real: ## published modules from a bug on record to a pull request (downloads them)
	.ci/setup && AGENTMUX_TEST_REAL=1 go test -count=1 -timeout=20m $(TESTFLAGS) -run=TestReal ./cmd/agentmux

test-crash: ## the host killed at each STRIDE-th crash point of a run, each time to the same end; then MOVEDKILLS machines at random moments drawn from SEED, each session taken over by another
	.ci/setup && AGENTMUX_CRASH_STRIDE=$(STRIDE) AGENTMUX_CRASH_SEED=$(SEED) AGENTMUX_MOVED_KILLS=$(MOVEDKILLS) .ci/ram go test -tags=crash -count=1 -parallel=12 -timeout=6h $(TESTFLAGS) -run=TestCrash ./bot/claim ./orchestrator/engine ./cmd/agentmux

test-bot: ## the bot killed at each STRIDE-th crash point of two requests, then BOTKILLS times at random moments drawn from SEED, and on a GitHub that fails in each of up to STORMS ways; RACE issues for bots that race, and ROUNDS for their claims alone
	.ci/setup && AGENTMUX_CRASH_STRIDE=$(STRIDE) AGENTMUX_CRASH_SEED=$(SEED) AGENTMUX_BOT_RACE=$(RACE) AGENTMUX_CLAIM_ROUNDS=$(ROUNDS) AGENTMUX_BOT_KILLS=$(BOTKILLS) AGENTMUX_BOT_STORMS=$(STORMS) AGENTMUX_BOT_SEED=$(SEED) .ci/ram go test -tags=crash -count=1 -parallel=8 -timeout=6h $(TESTFLAGS) -run='TestBot(Crashes|KilledAtRandom|ThroughStorms|sRaceForIssues)|OneHostWinsEachRace' ./bot/claim ./cmd/agentmux

test-team: ## a diamond of eight agents, of which each in turn fails in seven ways, each FAILS-th of the 56 cases; then its host killed at each STRIDE-th crash point, each time to the same end
	.ci/setup && AGENTMUX_TEAM_FAILS=$(FAILS) AGENTMUX_CRASH_STRIDE=$(STRIDE) AGENTMUX_CRASH_SEED=$(SEED) .ci/ram go test -tags=crash -count=1 -parallel=8 -timeout=6h $(TESTFLAGS) -run='TeamFailsAtEachNode|TestTeamCrashes' ./cmd/agentmux

test-power: ## the power cut at each STRIDE-th moment of a session, files cut and changed at each STRIDE-th byte
	.ci/setup && AGENTMUX_POWER=$(STRIDE) .ci/ram go test -count=1 -timeout=30m $(TESTFLAGS) -run='PowerLoss|Cut|Flipped|Changed' ./internal/durable ./orchestrator/session ./orchestrator/engine

test-soak: ## hosts killed KILLS times at random moments drawn from SEED
	.ci/setup && AGENTMUX_SOAK_KILLS=$(KILLS) AGENTMUX_SOAK_SEED=$(SEED) .ci/ram go test -tags=crash -count=1 -parallel=8 -timeout=6h $(TESTFLAGS) -run=TestSoak ./cmd/agentmux

test-faults: ## SESSIONS whole sessions, BESIDE side by side, on a GitHub of which a tenth fails; then each STRIDE-th case of one request that fails in one way
	.ci/setup && AGENTMUX_FAULT_SESSIONS=$(SESSIONS) AGENTMUX_FAULT_STRIDE=$(STRIDE) .ci/ram go test -count=1 -timeout=60m -parallel=$(BESIDE) $(TESTFLAGS) -run='TestFaults?(Everywhere|AtEachRequest)' ./cmd/agentmux

test-scale: ## SCALE sessions side by side in one process
	.ci/setup && AGENTMUX_SESSIONS=$(SCALE) .ci/ram go test -count=1 -timeout=60m $(TESTFLAGS) -run=TestSessionsSideBySide -v ./cmd/agentmux

test-walks: ## WALKS random walks through the decisions of a session, a twentieth of them through what hooks tell
	.ci/setup && AGENTMUX_WALKS=$(WALKS) .ci/ram go test -count=1 -timeout=60m $(TESTFLAGS) -run='RandomWalks|HooksAloneShowEachChange' ./orchestrator/decide ./bot/intake

test-messages: ## MESSAGES messages among twenty agents, of which and of whose hosts thirty are killed for each 10,000
	.ci/setup && AGENTMUX_MESSAGES=$(MESSAGES) .ci/ram go test -count=1 -timeout=60m $(TESTFLAGS) -run=ManyMessagesWhile -v ./orchestrator/engine
	AGENTMUX_WAITING=240 .ci/ram go test -count=1 -timeout=20m $(TESTFLAGS) -run=KilledHostsLose -v ./cmd/agentmux

test-agents: ## the real programs of the providers against a model on loopback (needs npm); with FULL=1 every case, and the table of docs/providers.md
	.ci/setup && AGENTMUX_TEST_AGENTS=1 AGENTMUX_TEST_AGENTS_FULL=$(FULL) go test -count=1 -timeout=60m -parallel=2 $(TESTFLAGS) -run='Test(Claude|Agents)' ./internal/agent/modeltest ./cmd/agentmux

test-act: ## the action, in the workflow of init --actions, run by nektos/act (which it builds) against the fake GitHub
	.ci/setup && act=$$(go tool -modfile=.ci/act.mod -n act) && AGENTMUX_TEST_ACT=$$act .ci/ram go test -count=1 -timeout=20m $(TESTFLAGS) -run='TestAct[A-Z]' ./cmd/agentmux

test-contract: ## what we say to GitHub held against its own descriptions (needs npm)
	@.ci/setup && TESTFLAGS='$(TESTFLAGS)' .ci/contract

show-comments: ## write bin/comments.html: what the program writes on GitHub, about as it looks there
	@AGENTMUX_COMMENTS=$(CURDIR)/bin/comments.html go test -count=1 -run=TestGitHub47Rendered ./ghsync/mirror

test-mutants: ## each gate taken out of a copy: a test must fail; with MUTANTS=touched those of the last change and a sixth of the others
	@.ci/setup && .ci/ram .ci/mutants/run $(MUTANTS)

nightly: ## the long form of each suite, one after the other: hours
	$(MAKE) test FULL=1 AGENTMUX_TEST_RACE=all
	$(MAKE) test-mutants
	$(MAKE) fuzz FUZZTIME=5m FUZZREST=1m
	$(MAKE) test-agents FULL=1
	$(MAKE) test-act
	$(MAKE) test-crash test-bot test-team test-power test-soak test-faults test-scale test-walks test-messages
	$(MAKE) bench FLEET="50 200"
	$(MAKE) release-check

simulate: ## days of many runners and issues: writes the table of docs/scale.md
	@go test -count=1 -run=TestScalePage -v ./internal/scale -update

protocol-table: ## write the pages of docs that say which tests hold which case
	@go test -count=1 -run='Test(Protocol|GitHub|Security)Table' ./docs -update

release-check: ## the release of this commit, built twice with goreleaser and compared; with SHORT=1 the program of this machine alone
	.release/check $(if $(SHORT),short)

clean: ## remove what build made
	rm -rf bin
