package config

import (
	"fmt"
	"slices"

	"github.com/agentmux/agentmux/internal/document"
)

// A File is a configuration file as it was read.
type File struct {
	Layer string `json:"layer"` // one of the layers above the built-in one
	Name  string `json:"name"`  // as problems and Config.Source say it
	Data  []byte `json:"data"`
}

// Files returns the files that the configuration was made of, lowest layer first.
func (c *Config) Files() []File { return slices.Clone(c.files) }

// LoadFiles is Load with files that another process has read, as Files returned them: nothing
// is read again. What a repository may not set is refused here as it was there.
func LoadFiles(files []File, home string) (*Config, document.Problems) {
	l := newLoader()
	layers := []string{LayerUser, LayerProject, LayerFlag}
	for _, f := range files {
		at := slices.Index(layers, f.Layer)
		if at < 0 || len(f.Data) > maxBytes {
			l.problems = append(l.problems, document.Problem{File: f.Name, Text: fmt.Sprintf("is not a file of the layer %q that was handed over whole and in order", f.Layer)})
			break
		}
		layers = layers[at+1:]
		l.add(f, nil)
	}
	return l.finish(l.decode(Sources{}), home)
}
