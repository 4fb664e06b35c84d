// Package jwt judges the signed claims by which an App says who it is, as GitHub does.
package jwt

import (
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"
)

var errUndecoded = errors.New("A JSON web token could not be decoded")

// Judge checks a claim: RS256, signed with the key of its issuer, not of the future, alive for at
// most ten minutes. The error's text is GitHub's message.
func Judge(claim string, now time.Time, keyOf func(issuer string) *rsa.PublicKey) error {
	parts := strings.Split(claim, ".")
	if len(parts) != 3 {
		return errUndecoded
	}
	var head struct{ Alg string }
	var body struct {
		Iat, Exp float64
		Iss      any
	}
	if unpack(parts[0], &head) != nil || unpack(parts[1], &body) != nil || head.Alg != "RS256" {
		return errUndecoded
	}
	issuer := fmt.Sprint(body.Iss)
	if number, isNumber := body.Iss.(float64); isNumber {
		issuer = strconv.FormatFloat(number, 'f', 0, 64)
	}
	key := keyOf(issuer)
	if key == nil {
		return errors.New("Integration not found")
	}
	signature, err := base64.RawURLEncoding.DecodeString(parts[2])
	sum := sha256.Sum256([]byte(parts[0] + "." + parts[1]))
	if err != nil || rsa.VerifyPKCS1v15(key, crypto.SHA256, sum[:], signature) != nil {
		return errUndecoded
	}
	at := float64(now.Unix())
	switch {
	case body.Iat > at:
		return errors.New("'Issued at' claim ('iat') must be an Integer representing the time that the assertion was issued")
	case body.Exp <= at:
		return errors.New("'Expiration time' claim ('exp') must be a numeric value representing the future time at which the assertion expires")
	case body.Exp > at+600:
		return errors.New("'Expiration time' claim ('exp') is too far in the future")
	}
	return nil
}

// Key returns the key of an App of a server that has some others: the private one as PEM, and the one to judge claims by.
// First Apps have the same one on each server, as to make a key takes longer than most tests with an App.
func Key(others int) (private []byte, public *rsa.PublicKey) {
	if others == 0 {
		return firstKey()
	}
	return newKey()
}

var firstKey = sync.OnceValues(newKey)

func newKey() (private []byte, public *rsa.PublicKey) {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		panic("fakehub: " + err.Error())
	}
	return pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)}), &key.PublicKey
}

func unpack(part string, v any) error {
	data, err := base64.RawURLEncoding.DecodeString(part)
	if err != nil {
		return err
	}
	return json.Unmarshal(data, v)
}
