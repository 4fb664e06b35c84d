package orchestrator

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/agentmux/agentmux/internal/lenient"
	"github.com/agentmux/agentmux/orchestrator/seal"
	"github.com/agentmux/agentmux/workflows/agents"
)

type rawJSON = json.RawMessage

// SchemaVersion is the version of state.json this program writes.
const SchemaVersion = 1

// MaxStateBytes is the largest state file that is read.
const MaxStateBytes = 8 << 20

// ErrNewer means that a newer agentmux made the session.
var ErrNewer = errors.New("made by a newer agentmux")

// CorruptError tells why a state file cannot be used.
type CorruptError struct{ Reason string }

// Error says "corrupt: " and the reason.
func (e *CorruptError) Error() string { return "corrupt: " + e.Reason }

type plainState State

// Encode returns the bytes of state.json: two-space indent, a checksum, final newline. Everything that
// writes a state comes through here, so it is here that a last_event outside of the catalog
// is refused.
func (s *State) Encode() ([]byte, error) {
	if _, ok := events[s.LastEvent]; !ok {
		return nil, fmt.Errorf("encode state: last_event %q is not in the catalog", s.LastEvent)
	}
	body, err := json.Marshal((*plainState)(s))
	if err != nil {
		return nil, fmt.Errorf("encode state: %w", err)
	}
	if len(s.Unknown) > 0 {
		if body, err = lenient.Append(body, s.Unknown); err != nil {
			return nil, fmt.Errorf("encode state: %w", err)
		}
	}
	var out bytes.Buffer
	if err := json.Indent(&out, body, "", "  "); err != nil {
		return nil, fmt.Errorf("encode state: %w", err)
	}
	out.WriteByte('\n')
	return seal.Add(out.Bytes(), s.Seq, s.UpdatedAt), nil
}

// Decode reads state.json. A file of the earlier tool (no schema_version) is
// converted; Classic then reports true. It returns a *CorruptError for what
// cannot be read and ErrNewer for a later schema.
func Decode(data []byte) (*State, error) {
	if len(data) > MaxStateBytes {
		return nil, &CorruptError{"state.json is larger than 8 MiB"}
	}
	if s := decodeOwn(data); s != nil {
		return s, nil
	}
	var keys map[string]rawJSON
	if err := json.Unmarshal(data, &keys); err != nil {
		return nil, &CorruptError{"state.json: " + lenient.Cause(err)}
	}
	if err := checkVersion(keys["schema_version"]); errors.Is(err, ErrNewer) {
		return nil, err
	}
	if broken := seal.Broken(data, keys); broken != "" {
		return nil, &CorruptError{"state.json " + broken}
	}
	delete(keys, seal.Key)
	for key, convert := range conversions {
		if raw, ok := keys[key]; ok {
			keys[key] = convert(raw)
		}
	}
	if err := checkVersion(keys["schema_version"]); err != nil {
		return nil, err
	}
	s := NewState()
	s.SchemaVersion = 0 // unless the file says otherwise
	// The decoder takes "Phase" for "phase": a key that is not ours never reaches it.
	if known := knownKeys(); known != nil {
		s.Unknown = lenient.Others(keys, known)
	}
	if err := json.Unmarshal(lenient.Object(keys), (*plainState)(s)); err != nil {
		return nil, &CorruptError{"state.json: " + lenient.Cause(err)}
	}
	s.fill()
	if _, ok := events[s.LastEvent]; !ok {
		s.Warnings = append(s.Warnings, fmt.Sprintf("last_event %q is not in the catalog, taken as %s", s.LastEvent, LastResumed))
		s.LastEvent = LastResumed
	}
	if s.IsClassic() && s.Outcome == "" {
		s.Outcome = s.classicOutcome()
	}
	return s, nil
}

// decodeOwn reads a file that is as Encode wrote it in one go, as it has no other spellings: each call of
// a tool reads the state. It returns nil for any other file, and for one with a key that is not ours.
func decodeOwn(data []byte) *State {
	keys, known, s := seal.Keys(data), knownKeys(), NewState()
	s.SchemaVersion = 0
	if keys == nil || slices.ContainsFunc(keys, func(key string) bool { return !known[key] }) ||
		json.Unmarshal(data, (*plainState)(s)) != nil || s.SchemaVersion != SchemaVersion {
		return nil
	}
	if _, ok := events[s.LastEvent]; !ok {
		return nil
	}
	s.fill()
	return s
}

// IsClassic reports whether the earlier tool wrote this state.
func (s *State) IsClassic() bool { return s.SchemaVersion == 0 }

// classicOutcome is what the phase and the event of the earlier tool say of an end: it knew
// no outcomes.
func (s *State) classicOutcome() Optional {
	switch {
	case s.Phase == PhaseDone:
		return OutcomeDone
	case s.Phase != PhaseFailed:
		return ""
	case s.LastEvent == LastRunCanceled || s.Category == OutcomeCanceled:
		return OutcomeCanceled
	}
	return OutcomeFailed
}

// MarshalJSON writes the wait for a provider as what the agent waits for, unless it also waits for something else.
func (a Agent) MarshalJSON() ([]byte, error) {
	type plain Agent
	if a.Limited && a.Waiting == "" {
		a.Waiting, a.Limited = WaitsForProvider, false
	}
	return json.Marshal(plain(a))
}

// UnmarshalJSON takes both forms.
func (a *Agent) UnmarshalJSON(data []byte) error {
	type plain Agent
	if err := json.Unmarshal(data, (*plain)(a)); err != nil {
		return err
	}
	if a.Waiting == WaitsForProvider {
		a.Waiting, a.Limited = "", true
	}
	return nil
}

// NewState returns a State with the initial value of every key; the launcher fills in what it knows.
func NewState() *State {
	s := &State{SchemaVersion: SchemaVersion, LastEvent: LastFeatureCreated, Kind: KindPipeline, Visit: 1, Settings: DefaultSettings()}
	s.fill()
	return s
}

// fill replaces nil collections, so that the file shows [] and {} and readers
// need no checks.
func (s *State) fill() {
	for _, list := range []*[]string{&s.CompletedSubplans, &s.ActivePlanIDs, &s.CompletedGroups, &s.RecentIDs, &s.Nominations} {
		*list = listed(*list)
	}
	s.Pending, s.Messages, s.Questions = listed(s.Pending), listed(s.Messages), listed(s.Questions)
	for i, q := range s.Questions { // earlier versions knew one kind
		s.Questions[i].Kind = cmp.Or(q.Kind, KindQuestion)
	}
	s.Deadlines = Filled(s.Deadlines)
	s.Counters = Filled(s.Counters)
	s.Seen = Filled(s.Seen)
	s.SubplanStatus = Filled(s.SubplanStatus)
	s.Conflicts = Filled(s.Conflicts)
	s.ActiveReviews = Filled(s.ActiveReviews)
	s.ReviewResults = Filled(s.ReviewResults)
	s.Agents = Filled(s.Agents)
	s.Leaving = Filled(s.Leaving)
	s.Workspaces = Filled(s.Workspaces)
	s.Team = Filled(s.Team)
}

func listed[T any](list []T) []T { return append([]T{}, list...) }

// Filled is m, or an empty map in place of nil.
func Filled[K comparable, V any](m map[K]V) map[K]V {
	if m == nil {
		return map[K]V{}
	}
	return m
}

// knownKeys returns the keys that a state may have.
var knownKeys = sync.OnceValue(func() map[string]bool {
	var keys map[string]rawJSON
	body, err := json.Marshal((*plainState)(fullState()))
	if err != nil || json.Unmarshal(body, &keys) != nil {
		return nil
	}
	known := map[string]bool{}
	for key := range keys {
		known[key] = true
	}
	return known
})

// fullState has a value in every optional key, so that its JSON names them all.
func fullState() *State {
	s := NewState()
	yes := true
	s.GHAvailable, s.IssueNumber, s.AwaitingSummary, s.Mirror, s.Quiet = &yes, 1, true, true, true
	s.Identity, s.Noted, s.Stays, s.MessageSeq, s.MessageCursor.Seq = "0", "0", "0", 1, 1
	s.Held.Outcome = "0"
	s.ResearchTasks = map[string]string{"a": "b"}
	s.WebResearchTasks = s.ResearchTasks
	s.Conflicts = map[string][]string{"1": {"a"}}
	s.Leaving = map[Launch]Leaving{"1.coder.1": {}}
	s.Team = map[string]agents.Progress{"a": {}}
	return s
}

// checkVersion refuses what a later program wrote, however large its number is.
func checkVersion(raw rawJSON) error {
	if raw == nil {
		return nil
	}
	var n json.Number
	if json.Unmarshal(raw, &n) == nil && n == "" { // null
		return nil
	}
	version, err := strconv.Atoi(n.String())
	switch {
	case version > SchemaVersion: // also what no int holds
		return ErrNewer
	case err != nil:
		return &CorruptError{"state.json: schema_version: expected a number"}
	}
	return nil
}

// conversions are the other spellings that files may hold, by key: a number as text, a
// text as number, and in the lists of the earlier tool plan_2 for 2.
var conversions = spellings()

func spellings() map[string]func(rawJSON) rawJSON {
	out := map[string]func(rawJSON) rawJSON{
		"completed_subplans":                 lenient.Bare("plan_"),
		"implementation_active_plan_ids":     lenient.Bare("plan_"),
		"implementation_completed_group_ids": lenient.Texts,
	}
	state := reflect.TypeFor[State]()
	for i := range state.NumField() {
		field := state.Field(i)
		key, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		switch field.Type.Kind() {
		case reflect.Int:
			out[key] = lenient.Number
		case reflect.String:
			out[key] = lenient.Text
		}
	}
	return out
}
