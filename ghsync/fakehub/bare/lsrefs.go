package bare

import (
	"bytes"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// lsRefs is a request for the refs in protocol version 2, as gitprotocol-v2 describes it.
type lsRefs struct {
	peel, symrefs, unborn bool
	prefixes              []string
}

const (
	flush = "0000"
	delim = "0001"
	// git answers as if no prefix had been given from this number on.
	maxPrefixes = 65536
	maxPkt      = 65000 // below git's limit
)

// readLsRefs is false for another command and for whatever git would have to judge.
func readLsRefs(body []byte) (ask lsRefs, is bool) {
	command := false
	for arguments := false; ; {
		line, rest, ok := cutPkt(body)
		if !ok {
			return ask, false
		}
		body = rest
		switch {
		case line == flush:
			return ask, command && len(body) == 0 && len(ask.prefixes) < maxPrefixes
		case line == delim:
			if arguments {
				return ask, false
			}
			arguments = true
		case !arguments && line[4:] == "command=ls-refs" && !command:
			command = true
		case !arguments && (strings.HasPrefix(line[4:], "agent=") || line[4:] == "object-format=sha1"):
		case !arguments || !ask.argument(line[4:]):
			return ask, false
		}
	}
}

func (a *lsRefs) argument(text string) bool {
	switch text {
	case "peel":
		a.peel = true
	case "symrefs":
		a.symrefs = true
	case "unborn":
		a.unborn = true
	default:
		prefix, is := strings.CutPrefix(text, "ref-prefix ")
		a.prefixes = append(a.prefixes, prefix)
		return is
	}
	return true
}

// cutPkt cuts the first packet, with its length and without the newline at its end.
func cutPkt(body []byte) (line string, rest []byte, ok bool) {
	if len(body) < 4 {
		return "", nil, false
	}
	size, err := strconv.ParseUint(string(body[:4]), 16, 16)
	switch {
	case err != nil:
		return "", nil, false
	case size < 2:
		return string(body[:4]), body[4:], true
	case size < 4 || size > maxPkt || int(size) > len(body) || bytes.IndexByte(body[:size], 0) >= 0:
		return "", nil, false
	}
	return strings.TrimSuffix(string(body[:size]), "\n"), body[size:], true
}

func (a *lsRefs) wants(ref string) bool {
	return len(a.prefixes) == 0 || slices.ContainsFunc(a.prefixes, func(p string) bool { return strings.HasPrefix(ref, p) })
}

// answer is what git would send for the request.
func (a *lsRefs) answer(s snapshot, peeled map[string]string) []byte {
	var out bytes.Buffer
	line := func(id, ref, symref string) {
		text := id + " " + ref
		if a.symrefs && symref != "" {
			text += " symref-target:" + symref
		}
		if tagged := peeled[id]; a.peel && tagged != "" {
			text += " peeled:" + tagged
		}
		pkt(&out, text+"\n")
	}
	switch {
	case !a.wants("HEAD"):
	case s.head != "":
		line(s.head, "HEAD", s.symref)
	case a.unborn && a.symrefs:
		line("unborn", "HEAD", s.symref)
	}
	for _, ref := range slices.Sorted(maps.Keys(s.ids)) {
		if a.wants(ref) {
			line(s.ids[ref], ref, "")
		}
	}
	out.WriteString(flush)
	return out.Bytes()
}

// pushRefs is the list of refs that a push begins with: the first line has the capabilities.
func pushRefs(s snapshot, capabilities string) []byte {
	var out bytes.Buffer
	pkt(&out, "# service=git-receive-pack\n")
	out.WriteString(flush)
	capabilities = "\x00" + capabilities
	for _, ref := range slices.Sorted(maps.Keys(s.ids)) {
		pkt(&out, s.ids[ref]+" "+ref+capabilities+"\n")
		capabilities = ""
	}
	if len(s.ids) == 0 {
		pkt(&out, zeroID+" capabilities^{}"+capabilities+"\n")
	}
	out.WriteString(flush)
	return out.Bytes()
}
