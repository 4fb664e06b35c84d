package transcript

import "net"

// Hold takes a connection as the listener does that accepted it.
func (rs *Recorders) Hold(conn net.Conn) bool { return rs.hold(conn) }
