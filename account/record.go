package account

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/papaver-agent/papaver/internal/durable"
	"github.com/papaver-agent/papaver/internal/secret"
	"github.com/papaver-agent/papaver/internal/strictjson"
)

const (
	recordFormat = 1 // tokens in the open, or in the keyring
	recordSealed = 2
	maxRecord    = 256 << 10 // bytes
)

// record is an account's file. Tokens, or Sealed, stands in it when the account's place is the file.
type record struct {
	Format     int             `json:"format"`
	Issuer     string          `json:"issuer"`
	Label      string          `json:"label,omitempty"`
	Domain     string          `json:"domain"`
	Name       string          `json:"name,omitempty"`
	ClientID   string          `json:"client_id"`
	Profile    string          `json:"profile"`
	Type       string          `json:"type"`
	Scope      []string        `json:"scope"`
	Since      time.Time       `json:"since"`
	Expires    *time.Time      `json:"expires,omitempty"`
	Place      Place           `json:"place"`
	Entry      string          `json:"entry,omitempty"`      // of the keyring
	Refreshing *time.Time      `json:"refreshing,omitempty"` // a refresh was sent then
	Unrevoked  int             `json:"unrevoked,omitempty"`
	Tokens     json.RawMessage `json:"tokens,omitempty"`
	Sealed     []byte          `json:"sealed,omitempty"` // the tokens, of a home that has a lock
}

// tokens are an account's secrets: the token, and those it replaced that the Company has not revoked yet.
type tokens struct {
	current  secret.Text
	replaced []secret.Text
}

// tokensOnDisk is the one form in which tokens are written.
type tokensOnDisk struct {
	Current  string   `json:"current"`
	Replaced []string `json:"replaced,omitempty"`
}

func (t tokens) encode() (secret.Text, error) {
	disk := tokensOnDisk{Current: t.current.Reveal()}
	for _, old := range t.replaced {
		disk.Replaced = append(disk.Replaced, old.Reveal())
	}
	data, err := json.Marshal(disk)
	if err != nil {
		return secret.Text{}, errors.New("an account token could not be encoded")
	}
	return secret.New(string(data)), nil
}

// decodeTokens reads what encode wrote. Its error quotes nothing of it.
func decodeTokens(text secret.Text) (tokens, error) {
	var disk tokensOnDisk
	if err := strictjson.Decode([]byte(text.Reveal()), strictjson.Limits{Bytes: maxRecord}, &disk); err != nil || disk.Current == "" {
		return tokens{}, errors.New("its token can't be read")
	}
	t := tokens{current: secret.New(disk.Current)}
	for _, old := range disk.Replaced {
		t.replaced = append(t.replaced, secret.New(old))
	}
	return t, nil
}

func readRecord(path string) (*record, error) {
	f, err := durable.OpenFile(path, os.O_RDONLY)
	if err != nil {
		return nil, fmt.Errorf("account: %w", err)
	}
	defer func() { _ = f.Close() }() // it was only read
	data, err := io.ReadAll(io.LimitReader(f, maxRecord+1))
	if err != nil {
		return nil, fmt.Errorf("account: %w", err)
	}
	var r record
	if err := strictjson.Decode(data, strictjson.Limits{Bytes: maxRecord}, &r); err != nil {
		return nil, fmt.Errorf("account %s is damaged; when you remove it, you sign in again", path) // the cause could quote a token
	}
	if r.Format < recordFormat || r.Format > recordSealed {
		return nil, fmt.Errorf("account %s has format %d, and this papaver reads formats %d and %d", path, r.Format, recordFormat, recordSealed)
	}
	return &r, nil
}

func (r *record) write(path string) error {
	r.Format = recordFormat
	if r.Sealed != nil {
		r.Format = recordSealed
	}
	data, err := json.Marshal(r)
	if err != nil {
		return errors.New("account: it could not be encoded")
	}
	return durable.WriteFile(path, append(data, '\n'))
}

func (r *record) account() Account {
	a := Account{
		Key: Key{Issuer: r.Issuer, Label: r.Label}, Domain: r.Domain, Name: r.Name, ClientID: r.ClientID, Profile: r.Profile,
		Type: r.Type, Scope: r.Scope, Since: r.Since, Place: r.Place, Unrevoked: r.Unrevoked,
	}
	if r.Expires != nil {
		a.Expires = *r.Expires
	}
	if r.Refreshing != nil {
		a.Interrupted = *r.Refreshing
	}
	return a
}

func recordOf(a Account) *record {
	r := &record{
		Format: recordFormat, Issuer: a.Issuer, Label: a.Label, Domain: a.Domain, Name: a.Name, ClientID: a.ClientID,
		Profile: a.Profile, Type: a.Type, Scope: a.Scope, Since: a.Since.UTC().Truncate(time.Second), Place: a.Place,
	}
	r.expire(a.Expires)
	return r
}

// expire sets the end; zero is none.
func (r *record) expire(at time.Time) {
	r.Expires = nil
	if !at.IsZero() {
		at = at.UTC().Truncate(time.Second)
		r.Expires = &at
	}
}

// begin and end mark that a refresh is under way. The earliest one whose end is not known is remembered.
func (r *record) begin(now time.Time) {
	if r.Refreshing == nil {
		now = now.UTC().Truncate(time.Second)
		r.Refreshing = &now
	}
}

func (r *record) end() { r.Refreshing = nil }
