package authserver

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// What is read as a form has each field once, in UTF-8.
func FuzzForm(f *testing.F) {
	for _, seed := range []string{"grant_type=password&grant_type=x", "a=%ff", "a=\xff", "%zz=1", "a=1;b=2", "assertion=eyJ.e30.c2ln&client_id=https%3A%2F%2Fagent.example", ""} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, body string) {
		r := httptest.NewRequest(http.MethodPost, "https://auth.stormline.test/oauth/token", strings.NewReader(body))
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		form, err := ReadForm(httptest.NewRecorder(), r)
		if err != nil {
			return
		}
		for name, values := range form {
			if len(values) != 1 || strings.ToValidUTF8(name+values[0], "") != name+values[0] {
				t.Errorf("%q gave %q: %q", body, name, values)
			}
		}
	})
}

// A credential is one scheme and one token.
func FuzzCredential(f *testing.F) {
	for _, seed := range []string{"Bearer abc", "DPoP  abc", "dpop abc", "Bearer abc, Basic x", "Bearer", "Bearer ", " abc", ""} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, value string) {
		r := httptest.NewRequest(http.MethodGet, "https://stormline.test/api/orders", nil)
		r.Header["Authorization"] = []string{value}
		scheme, token, none, ok := Credential(r)
		if none || ok && (token == "" || strings.ContainsAny(token, " ,\t") || scheme != strings.ToLower(scheme)) {
			t.Errorf("%q gave %q %q %v %v", value, scheme, token, none, ok)
		}
	})
}

// Comparing a URL with itself, written once more, never fails, and the comparison is stable.
func FuzzProofURL(f *testing.F) {
	for _, seed := range []string{"https://stormline.test:443/api/%6frders", "HTTPS://STORMLINE.test", "https://a/%", "https://a/%2f%2F", "//a", "https://a/é", "https://[::1]:443/", "A://:"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		once, ok := normalURL(raw)
		if !ok {
			return
		}
		if twice, ok := normalURL(once); !ok || twice != once {
			t.Errorf("%q gave %q, and that %q", raw, once, twice)
		}
	})
}

// A path that a sign-in may lead to stays on this host.
func FuzzLocalPath(f *testing.F) {
	for _, seed := range []string{"/account", "//evil.example/account", "/\\evil", "/device?user_code=BBBB-BBBB", "https://evil.example/account", "/account\r\nX: y", "/oauth/authorize?request=a"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, path string) {
		if !local(path) {
			return
		}
		if !strings.HasPrefix(path, "/") || strings.HasPrefix(path, "//") || strings.ContainsAny(path, "\\\r\n") {
			t.Errorf("%q leads elsewhere", path)
		}
	})
}
