package roster

// PutAfter makes the link of a project lead to a place, after something happened behind the look at .dmux.
func PutAfter(project, to string, meanwhile func()) error {
	p, err := openPlace(project)
	if err != nil {
		return err
	}
	defer p.Close()
	meanwhile()
	return p.put(to)
}

// RemoveAfter removes the link of a project, after something happened behind the look at it.
func RemoveAfter(project string, meanwhile func()) error {
	p, err := openPlace(project)
	if err != nil {
		return err
	}
	defer p.Close()
	meanwhile()
	return p.remove()
}
