package account

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/zalando/go-keyring"

	"github.com/papaver-agent/papaver/internal/secret"
)

const (
	// keyringWait is for one use of the keyring. A locked one asks the User for its password meanwhile.
	keyringWait    = time.Minute
	keyringService = "papaver"
)

// ErrNoEntry is returned when the keyring has no such entry.
var ErrNoEntry = errors.New("the keyring has no such entry")

// KeyringError says that the operating system's keyring could not be used. Nothing was put anywhere else instead.
type KeyringError struct{ Err error }

// Error names the cause.
func (e *KeyringError) Error() string {
	return fmt.Sprintf("the operating system's keyring can't be used: %v", e.Err)
}

// Unwrap returns the cause.
func (e *KeyringError) Unwrap() error { return e.Err }

// Keyring keeps secrets by name, outside the home. Its errors are *[KeyringError], or ErrNoEntry. Safe for concurrent
// use.
type Keyring interface {
	// Get returns an entry.
	Get(ctx context.Context, entry string) (secret.Text, error)
	// Set makes an entry, or replaces it.
	Set(ctx context.Context, entry string, value secret.Text) error
	// Delete removes an entry.
	Delete(ctx context.Context, entry string) error
}

// OSKeyring is the Secret Service of the User's session (GNOME Keyring, KWallet). getenv is os.Getenv in the program.
// A use of it ends after a minute; the call that is still under way then ends with the keyring's answer or the process.
func OSKeyring(getenv func(string) string) Keyring { return osKeyring{getenv} }

type osKeyring struct{ getenv func(string) string }

// Get implements Keyring.
func (k osKeyring) Get(ctx context.Context, entry string) (secret.Text, error) {
	var value secret.Text
	err := k.use(ctx, func() error {
		text, err := keyring.Get(keyringService, entry)
		value = secret.New(text)
		return err
	})
	if err != nil {
		return secret.Text{}, err
	}
	return value, nil
}

// Set implements Keyring.
func (k osKeyring) Set(ctx context.Context, entry string, value secret.Text) error {
	return k.use(ctx, func() error { return keyring.Set(keyringService, entry, value.Reveal()) })
}

// Delete implements Keyring.
func (k osKeyring) Delete(ctx context.Context, entry string) error {
	return k.use(ctx, func() error { return keyring.Delete(keyringService, entry) })
}

// use makes one call within keyringWait. The library knows no context.
func (k osKeyring) use(ctx context.Context, call func() error) error {
	// Without a session bus the library would start one of its own, with no keyring behind it.
	if k.getenv("DBUS_SESSION_BUS_ADDRESS") == "" {
		bus := filepath.Join(k.getenv("XDG_RUNTIME_DIR"), "bus")
		if _, err := os.Stat(bus); k.getenv("XDG_RUNTIME_DIR") == "" || err != nil {
			return &KeyringError{Err: errors.New("there is no desktop session that could have one (no D-Bus session bus)")}
		}
	}
	ctx, cancel := context.WithTimeout(ctx, keyringWait)
	defer cancel()
	done := make(chan error, 1)
	go func() { done <- call() }() // ends with the keyring's answer; only a keyring that never answers can hold it
	select {
	case err := <-done:
		switch {
		case err == nil:
			return nil
		case errors.Is(err, keyring.ErrNotFound):
			return ErrNoEntry
		default:
			return &KeyringError{Err: err}
		}
	case <-ctx.Done():
		return &KeyringError{Err: fmt.Errorf("it did not answer; it may be locked and ask for its password: %w", ctx.Err())}
	}
}
