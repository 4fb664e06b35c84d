package graphql_test

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/agentmux/agentmux/ghsync/fakehub/graphql"
)

const text = `
interface Node { id: ID! }
type Query { shelf(name: String!, deep: Boolean): Shelf  sum(numbers: [Int!]): Int }
type Shelf implements Node { id: ID!  books(first: Int): [Book]  owner: Person! }
type Book implements Node { id: ID!  title: String }
type Person { name: String }
`

type query struct {
	Shelf graphql.Resolver `graphql:"shelf"`
	Sum   graphql.Resolver `graphql:"sum"`
}

func (query) TypeName() string { return "Query" }

type shelf struct {
	ID    string           `graphql:"id"`
	Books graphql.Resolver `graphql:"books"`
	Owner any              `graphql:"owner"`
}

func (shelf) TypeName() string { return "Shelf" }

type book struct {
	ID    string `graphql:"id"`
	Title any    `graphql:"title"`
}

func (book) TypeName() string { return "Book" }

type person struct {
	Name string `graphql:"name"`
}

func (person) TypeName() string { return "Person" }

func roots() graphql.Roots {
	books := []book{{"b1", "One"}, {"b2", &graphql.Fault{Kind: "NOT_FOUND", Message: "no title"}}}
	return graphql.Roots{Query: query{
		Shelf: func(a graphql.Args) any {
			out := shelf{ID: "s-" + a.Text("name"), Owner: person{"Ann"}}
			if a.Text("name") == "lost" {
				out.Owner = errors.New("no owner")
			}
			out.Books = func(a graphql.Args) any {
				if a.Has("first") {
					return books[:a.Number("first")]
				}
				return books
			}
			return out
		},
		Sum: func(a graphql.Args) any {
			return len(a.List("numbers"))
		},
	}}
}

func TestExecute(t *testing.T) {
	schema, err := graphql.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name, query, variables, want string
	}{
		{name: "an alias", query: `{ mine: shelf(name: "a") { __typename id } }`, want: `{"data":{"mine":{"__typename":"Shelf","id":"s-a"}}}`},
		{
			name: "a number of the document", query: `{ shelf(name: "a") { books(first: 1) { id } } }`,
			want: `{"data":{"shelf":{"books":[{"id":"b1"}]}}}`,
		},
		{
			name: "a number of a variable", query: `query Q($n: Int) { shelf(name: "a") { books(first: $n) { id } } }`, variables: `{"n":1}`,
			want: `{"data":{"shelf":{"books":[{"id":"b1"}]}}}`,
		},
		{
			name: "the default of a variable", query: `query Q($n: Int = 1) { shelf(name: "a") { books(first: $n) { id } } }`,
			want: `{"data":{"shelf":{"books":[{"id":"b1"}]}}}`,
		},
		{name: "a list", query: `{ sum(numbers: [3, 4]) }`, want: `{"data":{"sum":2}}`},
		{
			name: "selections of one field are merged", query: `{ shelf(name: "a") { owner { __typename } } ...more } fragment more on Query { shelf(name: "a") { owner { name } } }`,
			want: `{"data":{"shelf":{"owner":{"__typename":"Person","name":"Ann"}}}}`,
		},
		{
			name: "a fragment on an interface", query: `{ shelf(name: "a") { ... on Node { id } } }`,
			want: `{"data":{"shelf":{"id":"s-a"}}}`,
		},
		{
			name: "skip and include", query: `query Q($y: Boolean!) { shelf(name: "a") { id @skip(if: $y) owner @include(if: $y) { name } } }`, variables: `{"y":true}`,
			want: `{"data":{"shelf":{"owner":{"name":"Ann"}}}}`,
		},
		{
			name: "a field that fails", query: `{ shelf(name: "a") { books { title } } }`,
			want: `{"data":{"shelf":{"books":[{"title":"One"},{"title":null}]}},"errors":[{"type":"NOT_FOUND","path":["shelf","books",1,"title"],"locations":[{"line":1,"column":30}],"message":"no title"}]}`,
		},
		{
			name: "a failure where the schema promises a value", query: `{ shelf(name: "lost") { id owner { name } } }`,
			want: `{"data":{"shelf":null},"errors":[{"path":["shelf","owner"],"locations":[{"line":1,"column":28}],"message":"no owner"}]}`,
		},
		{
			name: "an unknown field", query: `{ shelf(name: "a") { nope } }`,
			want: `{"errors":[{"extensions":{"code":"undefinedField","fieldName":"nope","typeName":"Shelf"},"locations":[{"line":1,"column":22}],"message":"Field 'nope' doesn't exist on type 'Shelf'"}]}`,
		},
		{
			name: "introspection", query: `{ __schema { types { name } } }`,
			want: `{"errors":[{"extensions":{"code":"undefinedField","fieldName":"__schema","typeName":"Query"},"locations":[{"line":1,"column":3}],"message":"Field '__schema' doesn't exist on type 'Query'"}]}`,
		},
		{
			name: "an argument that is missing", query: `{ shelf { id } }`,
			want: `{"errors":[{"extensions":{"arguments":"name","className":"Field","code":"missingRequiredArguments","name":"shelf"},"locations":[{"line":1,"column":3}],"message":"Field 'shelf' is missing required arguments: name"}]}`,
		},
		{
			name: "an unknown fragment", query: `{ shelf(name: "a") { ...x } }`,
			want: `{"errors":[{"extensions":{"code":"useAndDefineFragment","fragmentName":"x"},"locations":[{"line":1,"column":25}],"message":"Fragment x was used, but not defined"}]}`,
		},
		{
			name: "a variable of another type", query: `query Q($n: Int!) { sum(numbers: [$n]) }`, variables: `{"n":"x"}`,
			want: `{"errors":[{"extensions":{"value":"x"},"locations":[{"line":1,"column":9}],"message":"Variable $n of type Int! was provided invalid value"}]}`,
		},
		{
			name: "two operations and no name", query: `query A { sum } query B { sum }`,
			want: `{"errors":[{"message":"An operation name is required"}]}`,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			in := graphql.Request{Query: tt.query}
			if tt.variables != "" {
				if err := json.Unmarshal([]byte(tt.variables), &in.Variables); err != nil {
					t.Fatal(err)
				}
			}
			got, err := json.Marshal(schema.Execute(in, roots()))
			if err != nil {
				t.Fatal(err)
			}
			if string(got) != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
}
