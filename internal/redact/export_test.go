package redact

// Kind is a line of tokens.txt.
type Kind struct {
	ID, Expression, Source string
	After                  []string
}

// Kinds are the lines of tokens.txt.
func Kinds() (all []Kind, err error) {
	kinds, err := readKinds(tokensFile)
	for _, k := range kinds {
		all = append(all, Kind{k.id, k.expression, k.source, k.after})
	}
	return all, err
}

// ReadKinds reads text of the form of tokens.txt into patterns.
func ReadKinds(text string) error {
	kinds, err := readKinds(text)
	for _, k := range kinds {
		if _, err := k.pattern(); err != nil {
			return err
		}
	}
	return err
}
