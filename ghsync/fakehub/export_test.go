package fakehub

import "github.com/agentmux/agentmux/ghsync/fakehub/graphql"

// Schema is the schema that the fake serves.
func Schema() *graphql.Schema { return schema() }

// Objects returns an empty object of every type that the fake serves.
func Objects() []graphql.Object {
	all := []graphql.Object{
		queryRoot{}, mutationRoot{}, graphRateLimit{}, graphql.PageInfo{}, graphRepository{}, graphRef{}, graphCommit{},
		graphIssue{}, graphPull{}, graphPullCommit{}, graphRollup{}, graphCheck{}, graphStatus{}, graphReadyPayload{}, graphReacted{},
		graphLabel{}, graphComment{}, graphEdit{},
		graphAccount{graphActor: graphActor{typ: "User"}}, graphAccount{graphActor: graphActor{typ: "Organization"}},
		graphActor{typ: "Bot"}, graphActor{typ: "Mannequin"},
	}
	for _, typ := range eventTypes {
		event := graphEvent{typ: typ}
		switch typ {
		case "LabeledEvent", "UnlabeledEvent":
			all = append(all, graphLabelEvent{graphEvent: event})
		case "RenamedTitleEvent":
			all = append(all, graphRenameEvent{graphEvent: event})
		default:
			all = append(all, event)
		}
	}
	for _, typ := range []string{"Label", "IssueComment", "UserContentEdit", "PullRequestCommit", "StatusCheckRollupContext"} {
		all = append(all, graphql.Page{Kind: typ}, graphql.Edge{Kind: typ})
	}
	for _, typ := range []string{"IssueTimelineItems", "PullRequestTimelineItems"} {
		all = append(all, graphql.TimelinePage{Page: graphql.Page{Kind: typ}}, graphql.Edge{Kind: typ})
	}
	return all
}
