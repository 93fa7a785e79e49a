package session_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/papaver-agent/papaver/internal/durable"
	"github.com/papaver-agent/papaver/session"
)

var noon = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

const clientID = "https://agent.example/poppy/agent.json"

func newIdentity(t testing.TB) (*session.Identity, string) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "identity")
	id, err := session.Init(dir, session.Options{ClientID: clientID, Name: "Example Agent"}, noon, rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return id, dir
}

// privateParts are the private numbers in the identity's file.
func privateParts(t testing.TB, dir string) []string {
	t.Helper()
	var file struct {
		Keys []struct {
			Private struct{ D string } `json:"private"`
		} `json:"keys"`
	}
	readJSON(t, filepath.Join(dir, "identity.json"), &file)
	var parts []string
	for _, k := range file.Keys {
		if len(k.Private.D) != 43 {
			t.Fatalf("the private part has %d characters", len(k.Private.D))
		}
		parts = append(parts, k.Private.D)
	}
	if len(parts) == 0 {
		t.Fatal("the identity's file has no key")
	}
	return parts
}

func readJSON(t testing.TB, path string, v any) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, v); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
}

// Clauses: C10-4.01, C10-4.02, S01-4.1.02, S01-4.1.03, S01-4.1.04, S01-4.1.05
func TestTheDocumentsToPublishNameTheClientAndItsPublicKeysOnly(t *testing.T) {
	t.Parallel()
	id, dir := newIdentity(t)
	var agent map[string]any
	readJSON(t, filepath.Join(id.PublicDir(), "agent.json"), &agent)
	for member, want := range map[string]string{
		"client_id": clientID, "client_name": "Example Agent", "jwks_uri": "https://agent.example/poppy/jwks.json",
		"token_endpoint_auth_method": "private_key_jwt",
	} {
		if agent[member] != want {
			t.Errorf("%s = %v, want %s", member, agent[member], want)
		}
	}
	// No extensions: those that a draft would list there are not spoken. No logo: none was named.
	if names := slices.Sorted(maps.Keys(agent)); !slices.Equal(names, []string{"client_id", "client_name", "jwks_uri", "redirect_uris", "token_endpoint_auth_method"}) {
		t.Errorf("members %q", names)
	}
	if uris, _ := agent["redirect_uris"].([]any); len(uris) != 1 || uris[0] != "https://agent.example/poppy/oauth/callback" {
		t.Errorf("redirect_uris = %v", agent["redirect_uris"])
	}
	var set struct{ Keys []map[string]any }
	readJSON(t, filepath.Join(id.PublicDir(), "jwks.json"), &set)
	if len(set.Keys) != 1 || set.Keys[0]["kid"] != id.Keys()[0].Thumbprint || set.Keys[0]["alg"] != "ES256" || set.Keys[0]["use"] != "sig" {
		t.Errorf("jwks = %v", set.Keys)
	}
	private := privateParts(t, dir)
	public, err := os.ReadDir(id.PublicDir())
	if err != nil || len(public) != 2 {
		t.Fatalf("public holds %v, %v", public, err)
	}
	for _, entry := range public {
		data, err := os.ReadFile(filepath.Join(id.PublicDir(), entry.Name()))
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(data), private[0]) || regexp.MustCompile(`"d"\s*:`).Match(data) {
			t.Errorf("%s has the private key", entry.Name())
		}
		if strings.Contains(string(data), "client_secret") {
			t.Errorf("%s has a client secret", entry.Name())
		}
	}
}

// TestTheHomeIsOursAloneWhateverTheUmask changes the process's umask, so nothing runs beside it.
func TestTheHomeIsOursAloneWhateverTheUmask(t *testing.T) {
	for _, mask := range []int{0, 0o777} {
		old := syscall.Umask(mask)
		id, err := session.Init(filepath.Join(t.TempDir(), "identity"), session.Options{ClientID: clientID, Name: "A"}, noon, rand.Reader)
		if err == nil {
			_, err = session.UserID(filepath.Dir(id.PublicDir()), "https://auth.example/", v1, rand.Reader)
		}
		syscall.Umask(old)
		if err != nil {
			t.Fatalf("umask %04o: %v", mask, err)
		}
		files := 0
		err = filepath.WalkDir(filepath.Dir(id.PublicDir()), func(path string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			info, err := d.Info()
			if err != nil {
				return err
			}
			want := fs.FileMode(0o600)
			if d.IsDir() {
				want = 0o700
			} else {
				files++
			}
			if info.Mode().Perm() != want {
				t.Errorf("umask %04o: %s has mode %04o, want %04o", mask, path, info.Mode().Perm(), want)
			}
			return nil
		})
		if err != nil || files != 4 {
			t.Errorf("umask %04o: %d files, %v", mask, files, err)
		}
	}
}

func TestInitNeverOverwrites(t *testing.T) {
	t.Parallel()
	id, dir := newIdentity(t)
	before := contents(t, dir)
	_, err := session.Init(dir, session.Options{ClientID: "https://other.example/agent.json", Name: "B"}, noon, rand.Reader)
	if !errors.Is(err, session.ErrIdentityExists) {
		t.Errorf("err = %v", err)
	}
	if after := contents(t, dir); after != before {
		t.Error("the second Init changed a file")
	}
	loaded, err := session.Load(dir)
	if err != nil || loaded.ClientID() != id.ClientID() || loaded.Keys()[0] != id.Keys()[0] {
		t.Errorf("loaded %v, %v; want %v", loaded, err, id.Keys())
	}
	if err := os.WriteFile(filepath.Join(dir, "identity.json"), []byte("damaged"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := session.Init(dir, session.Options{ClientID: clientID, Name: "B"}, noon, rand.Reader); !errors.Is(err, session.ErrIdentityExists) {
		t.Errorf("over a damaged file: err = %v", err)
	}
}

func contents(t testing.TB, dir string) string {
	t.Helper()
	var all strings.Builder
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		all.WriteString(path + "\n" + string(data))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all.String()
}

// TestOfManyInitsAtOnceOneCountsAndItsKeyIsPublished would find a key published that nobody has.
func TestOfManyInitsAtOnceOneCountsAndItsKeyIsPublished(t *testing.T) {
	t.Parallel()
	for range 10 {
		dir := filepath.Join(t.TempDir(), "identity")
		if err := durable.MkdirAll(filepath.Join(dir, "public")); err != nil {
			t.Fatal(err)
		}
		var mu sync.Mutex
		var made []*session.Identity
		var wait sync.WaitGroup
		for range 8 {
			wait.Go(func() {
				id, err := session.Init(dir, session.Options{ClientID: clientID, Name: "A"}, noon, rand.Reader)
				mu.Lock()
				defer mu.Unlock()
				if err == nil {
					made = append(made, id)
				} else if !errors.Is(err, session.ErrIdentityExists) {
					t.Errorf("err = %v", err)
				}
			})
		}
		wait.Wait()
		if len(made) != 1 {
			t.Fatalf("%d identities were made", len(made))
		}
		var set struct{ Keys []map[string]any }
		readJSON(t, filepath.Join(dir, "public", "jwks.json"), &set)
		if set.Keys[0]["kid"] != made[0].Keys()[0].Thumbprint {
			t.Fatal("the published key is not the identity's")
		}
	}
}

// Clauses: S01-4.1.01, S01-4.1.04
func TestWhoTheAgentIsIsCheckedBeforeAKeyIsMade(t *testing.T) {
	t.Parallel()
	for name, o := range map[string]session.Options{
		"no client id":           {Name: "A"},
		"http":                   {ClientID: "http://agent.example/agent.json", Name: "A"},
		"no path":                {ClientID: "https://agent.example", Name: "A"},
		"only a slash":           {ClientID: "https://agent.example/", Name: "A"},
		"a fragment":             {ClientID: "https://agent.example/agent.json#a", Name: "A"},
		"a password":             {ClientID: "https://a:b@agent.example/agent.json", Name: "A"},
		"no name":                {ClientID: clientID},
		"a long name":            {ClientID: clientID, Name: strings.Repeat("n", 201)},
		"a name with an escape":  {ClientID: clientID, Name: "A\x1b[2J"},
		"dot segments":           {ClientID: "https://agent.example/a/../agent.json", Name: "A"},
		"escaped dot segments":   {ClientID: "https://agent.example/a/%2e%2e/agent.json", Name: "A"},
		"the key set's place":    {ClientID: "https://agent.example/jwks.json", Name: "A"},
		"a logo over http":       {ClientID: clientID, Name: "A", LogoURI: "http://agent.example/logo.png"},
		"a logo that is data":    {ClientID: clientID, Name: "A", LogoURI: "data:image/png,"},
		"a redirect elsewhere":   {ClientID: clientID, Name: "A", RedirectURI: "https://evil.example/callback"},
		"a redirect with a user": {ClientID: clientID, Name: "A", RedirectURI: "https://a:b@agent.example/callback"},
		"a redirect over http":   {ClientID: clientID, Name: "A", RedirectURI: "http://agent.example/callback"},
	} {
		dir := filepath.Join(t.TempDir(), "identity")
		if _, err := session.Init(dir, o, noon, rand.Reader); err == nil {
			t.Errorf("%s: accepted", name)
		}
		if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: something was written", name)
		}
	}
}

func TestADamagedIdentityIsRefusedWithoutQuotingAKey(t *testing.T) {
	t.Parallel()
	_, dir := newIdentity(t)
	path := filepath.Join(dir, "identity.json")
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	d := privateParts(t, dir)[0]
	_, otherDir := newIdentity(t)
	otherD := privateParts(t, otherDir)[0]
	text := string(whole)
	kid := regexp.MustCompile(`"kid":"([^"]+)"`).FindStringSubmatch(text)[1]
	big, err := ecdsa.GenerateKey(elliptic.P384(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	point, err := big.PublicKey.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	number, err := big.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	b64 := base64.RawURLEncoding.EncodeToString
	p384 := `{"kty":"EC","crv":"P-384","x":"` + b64(point[1:49]) + `","y":"` + b64(point[49:]) + `","d":"` + b64(number) + `"}`
	damaged := map[string]string{
		"empty":                   "",
		"no JSON":                 d,
		"format 4":                strings.Replace(text, `"format":2`, `"format":4`, 1),
		"format 0":                strings.Replace(text, `"format":2`, `"format":0`, 1),
		"no activation":           regexp.MustCompile(`"activates":"[^"]*",`).ReplaceAllString(text, ""),
		"no keys":                 regexp.MustCompile(`"keys":\[.*\]`).ReplaceAllString(text, `"keys":[]`),
		"a member twice":          strings.Replace(text, `"d":`, `"d":"x","d":`, 1),
		"a private part too long": strings.Replace(text, d, d+d, 1),
		"no private part":         strings.Replace(text, `"d":"`+d+`",`, ``, 1),
		"another private part":    strings.Replace(text, d, otherD, 1),
		"the key as a string":     regexp.MustCompile(`"private":\{[^}]*\}`).ReplaceAllString(text, `"private":"`+d+`"`),
		"an RSA key":              strings.Replace(text, `"kty":"EC"`, `"kty":"RSA"`, 1),
		"a key of another curve":  regexp.MustCompile(`"private":\{[^}]*\}`).ReplaceAllString(text, `"private":`+p384),
		"another kid":             strings.Replace(text, kid, strings.ToUpper(kid), 1),
		"the key as its kid":      strings.Replace(text, `"kid":"`+kid, `"kid":"`+d, 1),
	}
	for cut := 1; cut < len(whole); cut += 7 {
		refuseDamaged(t, path, "cut", text[:cut], d, otherD)
	}
	for name, content := range damaged {
		if content == text {
			t.Fatalf("%s: is not damaged", name)
		}
		refuseDamaged(t, path, name, content, d, otherD)
	}
}

func refuseDamaged(t *testing.T, path, name, content string, keys ...string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	id, err := session.Load(filepath.Dir(path))
	if err == nil {
		t.Errorf("%s: loaded %v", name, id.Keys())
		return
	}
	for _, key := range keys {
		if strings.Contains(err.Error(), key) || strings.Contains(err.Error(), key[:12]) {
			t.Errorf("%s: the error quotes the key", name)
		}
	}
	if !strings.Contains(err.Error(), path) {
		t.Errorf("%s: %q does not name the file", name, err)
	}
}

func TestLoadWithoutAnIdentityIsErrNoIdentity(t *testing.T) {
	t.Parallel()
	if _, err := session.Load(filepath.Join(t.TempDir(), "identity")); !errors.Is(err, session.ErrNoIdentity) {
		t.Errorf("err = %v", err)
	}
}
