package monitor

// pass filters every text that an agent or an issue can influence through shown. It does so with
// whole texts, before they are cut and broken into lines: half a secret is not recognized.
func (v *View) pass(shown func(string) string) {
	texts := []*string{&v.Title, &v.Branch, &v.Headline}
	for i := range v.Phases {
		texts = append(texts, &v.Phases[i].Note)
	}
	for i := range v.Agents {
		texts = append(texts, &v.Agents[i].Key, &v.Agents[i].Doing)
	}
	for i := range v.Members {
		m := &v.Members[i]
		texts = append(texts, &m.State, &m.Doing, &m.Branch)
	}
	for i := range v.Recent {
		texts = append(texts, &v.Recent[i].Text)
	}
	rows := [][]Row{v.Reviews, v.Research}
	for i := range v.Groups {
		texts, rows = append(texts, &v.Groups[i].Name), append(rows, v.Groups[i].Plans)
	}
	for _, list := range rows {
		for i := range list {
			texts = append(texts, &list[i].Text, &list[i].Right)
		}
	}
	if q := v.Question; q != nil {
		texts = append(texts, &q.Text)
		for i := range q.Options {
			texts = append(texts, &q.Options[i])
		}
	}
	if v.Outcome != nil {
		texts = append(texts, &v.Outcome.Reason)
	}
	for _, text := range texts {
		*text = shown(*text)
	}
}
