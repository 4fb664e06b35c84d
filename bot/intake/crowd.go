package intake

import (
	"net"
	"sync"
)

// crowd is a listener with at most maxConns connections at a time.
type crowd struct {
	net.Listener
	places chan struct{} // has a value for each connection
	closed chan struct{}
	close  func() // closes closed
}

func newCrowd(l net.Listener) *crowd {
	c := &crowd{Listener: l, places: make(chan struct{}, maxConns), closed: make(chan struct{})}
	c.close = sync.OnceFunc(func() { close(c.closed) })
	return c
}

// Accept waits for a place, then for a connection.
func (c *crowd) Accept() (net.Conn, error) {
	select {
	case c.places <- struct{}{}:
	case <-c.closed:
		return nil, net.ErrClosed
	}
	leave := sync.OnceFunc(func() { <-c.places })
	conn, err := c.Listener.Accept()
	if err != nil {
		leave()
		return nil, err
	}
	return &visitor{conn, leave}, nil
}

func (c *crowd) Close() error {
	c.close()
	return c.Listener.Close()
}

// visitor is a connection that has a place until it is closed.
type visitor struct {
	net.Conn
	leave func()
}

func (v *visitor) Close() error {
	defer v.leave()
	return v.Conn.Close()
}
