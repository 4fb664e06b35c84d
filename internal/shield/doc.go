// Package shield keeps what this program holds away from other processes of the same user:
// the memory and environment of a process that has secrets, and what two processes of this program
// tell each other.
//
// Close makes the calling process unreadable: /proc/<pid>/{environ,mem,fd} are refused to
// every process without the right to trace any process, and a crash leaves no core file. Seal
// carries an environment to another program image through a pipe instead of the list that
// the kernel shows. Unreadable makes a copy of a program of others that runs closed from its
// first instruction on. Listener is a Unix socket with a name that no other process can foresee,
// whose callers are known by what the kernel says of them. It stores nothing but that socket.
package shield
