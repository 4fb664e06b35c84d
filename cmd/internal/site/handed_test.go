package site_test

import (
	"strings"
	"testing"

	"github.com/agentmux/agentmux/cmd/internal/site"
)

// A document that is cut, empty, of another version or of something else is refused with a
// sentence, and none of it is repeated: a token may be in it.
func TestADocumentThatIsNotALaunchersIsRefused(t *testing.T) {
	token := "ghp_" + strings.Repeat("a", 36)
	whole := `{"version":1,"config":[],"account":{"mode":"token","token":"` + token + `","api":"a","server":"s"}}`
	for name, c := range map[string]struct{ text, want string }{
		"whole":               {whole, ""},
		"whole, with an end":  {whole + "\n", ""},
		"empty":               {"", "hands over nothing; without --handed the host reads everything itself"},
		"only the first byte": {whole[:1], "ends too early"},
		"cut in the token":    {whole[:strings.Index(whole, token)+10], "ends too early"},
		"without its end":     {whole[:len(whole)-1], "ends too early"},
		"a newer version":     {strings.Replace(whole, `"version":1`, `"version":2`, 1), "has version 2, this agentmux reads 1"},
		"no version":          {strings.Replace(whole, `"version":1`, `"versions":1`, 1), "has version 0, this agentmux reads 1"},
		"two documents":       {whole + whole, "is not the JSON document of a launcher"},
		"a token alone":       {token, "is not the JSON document of a launcher"},
		"a list":              {"[" + whole + "]", "is not the JSON document of a launcher"},
		"another type":        {strings.Replace(whole, `"config":[]`, `"config":"`+token+`"`, 1), "is not the JSON document of a launcher"},
		"too large":           {whole + strings.Repeat(" ", 8<<20), "larger than 8 MiB"},
	} {
		t.Run(name, func(t *testing.T) {
			h, err := site.ReadHanded(strings.NewReader(c.text))
			switch {
			case c.want == "" && (err != nil || h.Account.Token != token):
				t.Errorf("%+v, %v", h, err)
			case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "ghp_")):
				t.Errorf("%v, want %q", err, c.want)
			}
		})
	}
}
