package toolset

// Type is the type of a parameter, as JSON schema names it.
type Type string

// Types of parameters.
const (
	TypeText   Type = "string"
	TypeNumber Type = "integer"
	TypeFlag   Type = "boolean"
	TypeList   Type = "array" // of texts; a single text is a list of one
)

// Param is one parameter of a tool.
type Param struct {
	Name        string
	Type        Type
	Description string
	Required    bool
	Enum        []string
	Max         int // characters of a text, items of a list, highest number; 0 = no limit
	Min         int // lowest number, fewest items

	Arg   string // the name of the argument on the command line
	Flag  string // or the flag, and
	Usage string // what the help says about it
	Told  string // what a prompt says about it when it gives no value
}

// MaxItem is how many characters an item of a list may have.
const MaxItem = 20_000

// Schema is the JSON schema of a tool's parameters. The fields have the order of their
// names, so that the text is the same as that of a map.
type Schema struct {
	Properties map[string]Property `json:"properties"`
	Required   []string            `json:"required"`
	Type       Type                `json:"type"`
}

// Property is the JSON schema of one parameter.
type Property struct {
	Description string   `json:"description"`
	Enum        []string `json:"enum,omitempty"`
	Items       *Items   `json:"items,omitempty"`
	MaxItems    int      `json:"maxItems,omitempty"`
	MaxLength   int      `json:"maxLength,omitempty"`
	Maximum     int      `json:"maximum,omitempty"`
	MinItems    int      `json:"minItems,omitempty"`
	MinLength   int      `json:"minLength,omitempty"`
	Minimum     int      `json:"minimum,omitempty"`
	Type        Type     `json:"type"`
}

// Items is the JSON schema of the items of a list.
type Items struct {
	Type Type `json:"type"`
}

// Schema returns the JSON schema of the tool's parameters.
func (t Tool) Schema() Schema {
	s := Schema{Properties: map[string]Property{}, Required: []string{}, Type: "object"}
	for _, p := range t.Params {
		s.Properties[p.Name] = p.property()
		if p.Required {
			s.Required = append(s.Required, p.Name)
		}
	}
	return s
}

func (p Param) property() Property {
	out := Property{Type: p.Type, Description: p.Description, Enum: p.Enum}
	switch p.Type {
	case TypeText:
		out.MinLength, out.MaxLength = p.Min, p.Max
	case TypeNumber:
		out.Minimum, out.Maximum = p.Min, p.Max
	case TypeList:
		out.MinItems, out.MaxItems = p.Min, p.Max
		out.Items = &Items{Type: TypeText}
	}
	return out
}
