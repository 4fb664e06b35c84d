package claim

import "time"

// beat is the record by which a host tells that it lives. Others look at the id of its commit
// alone; what it says is for people.
type beat struct {
	V        int       `json:"v"`
	Host     HostID    `json:"host"`
	Beat     int       `json:"beat"`
	Sessions []string  `json:"sessions"`
	Free     int       `json:"free"` // slots
	At       time.Time `json:"at"`
	Nonce    string    `json:"nonce"` // each beat is a commit that was never seen
}

// text is the beat as one line. Sessions that do not fit are left out.
func (b beat) text() (string, error) {
	b.V, b.At, b.Nonce = version, b.At.UTC().Truncate(time.Second), random()
	for {
		text, err := oneLine(b)
		if err == nil || len(b.Sessions) == 0 {
			return text, err
		}
		b.Sessions = b.Sessions[:len(b.Sessions)/2]
	}
}
