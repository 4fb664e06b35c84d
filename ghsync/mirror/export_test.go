package mirror

// OnSave has the state of a mirror written by keep, which may do so by write.
func (m *Mirror) OnSave(keep func(write func() error) error) {
	write := m.keep
	m.keep = func(path string, data []byte) error { return keep(func() error { return write(path, data) }) }
}

// WithDefaults is what a mirror makes of its pace.
func (p Pace) WithDefaults() Pace { return p.withDefaults() }
