package git

import "crypto/sha1"

// Summed puts the checksum of an index after it.
func Summed(body []byte) []byte {
	sum := sha1.Sum(body)
	return append(body[:len(body):len(body)], sum[:]...)
}
