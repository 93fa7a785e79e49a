package main

import (
	"encoding/json"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// What a signed-in run sends stays with the Company, in every version: the password and the code, every token that the
// Company gave, every assertion, and every header that carries the Session.
//
// Clauses: S01-5.17, S01-4.8.10, S01-4.3.25
func TestNoSecretOfASignedInRunIsWrittenAnywhere(t *testing.T) {
	t.Parallel()
	for _, version := range []string{"1.0", "0.2", "0.1"} {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			b := atCompanyOf(t, version)
			b.signedInBy("mediated", "--scope", "poppy:read poppy:write")
			p := b.start(b.task(b.file("account.json", `{"title":"look","steps":[{"type":"navigate","url":"https://stormline.test/account"},{"type":"navigate","url":"https://stormline.test/orders/ord_7Hk2"}]}`), "--json", "--no-input", "--signed-in")...)
			p.event("act", 2)
			secrets := append(privateKeys(t, b), b.given()...)
			if n := b.search(secrets, b.tmp); n == 0 {
				t.Error("Chromium's profile holds no file: the search looked in the wrong place")
			}
			b.environmentIsClean(secrets)
			p.exits(0)
			if p.event("joined", 1)["signed_in"] != true {
				t.Errorf("the run was not signed in: %s", p.stdout.String())
			}
			secrets = append(secrets, b.given()...)
			for _, folder := range []string{"ledger", "run", "companies", filepath.Join("identity", "public")} {
				b.search(secrets, filepath.Join(b.home, folder))
			}
			for name, text := range map[string]string{
				"the events": p.stdout.String(), "standard error": p.stderr.String(), "ledger export": b.run(0, "ledger", "export"),
				"companies": b.run(0, "companies", "--json"), "the Company's words": b.company.told(), "the Company's report": b.rawReport(),
			} {
				if found := secretIn([]byte(text), secrets); found != "" {
					t.Errorf("%s holds %s", name, found)
				}
			}
			b.counted(0, 0)
		})
	}
}

// given are the secrets in what the Company and the agent have told each other: no address holds one.
func (b *bench) given() [][]byte {
	b.t.Helper()
	log, err := json.Marshal(b.does("log", map[string]any{}))
	if err != nil {
		b.t.Fatal(err)
	}
	found := [][]byte{[]byte(password)}
	tokens := regexp.MustCompile(`\\"(?:access|refresh)_token\\": ?\\"([^"\\]+)\\"`).FindAllSubmatch(log, -1)
	if len(tokens) < 2 {
		b.t.Fatal("the Company's log shows no tokens where this test looks for them")
	}
	for _, m := range tokens {
		found = append(found, m[1])
	}
	found = append(found, jwt.FindAll(log, -1)...)
	for _, m := range regexp.MustCompile(`"url":"([^"]*)"`).FindAllSubmatch(log, -1) {
		for i, secret := range found {
			if strings.Contains(string(m[1]), string(secret)) {
				b.t.Errorf("the address %s holds secret %d", m[1], i)
			}
		}
	}
	return found
}
