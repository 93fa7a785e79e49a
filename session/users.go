package session

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/papaver-agent/papaver/internal/durable"
	"github.com/papaver-agent/papaver/internal/randomid"
	"github.com/papaver-agent/papaver/internal/strictjson"
	"github.com/papaver-agent/papaver/profile"
)

const usersFile = "users.json"

// UserID returns the User's ID at the Company that issuer is, making it when there is none: random, stable, another
// one for each issuer, derived from nothing (PROTOCOL 1.0, section 4). The caller holds the home's lock.
func UserID(dir, issuer string, p profile.Profile, random io.Reader) (string, error) {
	users, err := Users(dir)
	if err != nil {
		return "", err
	}
	if id, ok := users[issuer]; ok {
		return id, nil
	}
	id, err := randomid.Long(random, p.UserIDPrefix)
	if err != nil {
		return "", err
	}
	users[issuer] = id
	data, err := json.MarshalIndent(users, "", "  ")
	if err != nil {
		return "", err
	}
	if err := durable.MkdirAll(dir); err != nil {
		return "", fmt.Errorf("user ids: %w", err)
	}
	if err := durable.WriteFile(filepath.Join(dir, usersFile), append(data, '\n')); err != nil {
		return "", fmt.Errorf("user ids: %w", err)
	}
	return id, nil
}

// Users returns the User IDs that were made, by the issuer of the Company they are for.
func Users(dir string) (map[string]string, error) {
	path := filepath.Join(dir, usersFile)
	users := make(map[string]string)
	data, err := os.ReadFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return users, nil
	case err != nil:
		return nil, fmt.Errorf("user ids: %w", err)
	}
	if err := strictjson.Decode(data, strictjson.Limits{}, &users); err != nil {
		return nil, fmt.Errorf("user ids %s: %w", path, err)
	}
	return users, nil
}
