package testsite

import (
	"net/http"
	"strings"
)

// probedMethods are those that a path may allow.
var probedMethods = []string{http.MethodGet, http.MethodHead, http.MethodPost}

// options answers a request for a path that knows other methods only: OPTIONS with Allow, anything else with 405 and
// Allow (RFC 9110, sections 9.3.7 and 15.5.6). The mux alone gives such a request to its pattern "/".
func options(mux *http.ServeMux) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, pattern := mux.Handler(r); pattern != "/" && r.Method != http.MethodOptions {
			mux.ServeHTTP(w, r)
			return
		}
		allowed := allowedMethods(mux, r)
		if len(allowed) == 0 {
			mux.ServeHTTP(w, r)
			return
		}
		w.Header().Set("Allow", strings.Join(append(allowed, http.MethodOptions), ", "))
		if r.Method == http.MethodOptions {
			w.WriteHeader(http.StatusNoContent)
			return
		}
		http.Error(w, "this address doesn't know the method", http.StatusMethodNotAllowed)
	})
}

// allowedMethods lists the methods that a pattern of the mux's own takes at the path.
func allowedMethods(mux *http.ServeMux, r *http.Request) []string {
	var allowed []string
	for _, method := range probedMethods {
		probe := r.Clone(r.Context())
		probe.Method = method
		if _, pattern := mux.Handler(probe); pattern != "/" && pattern != "" {
			allowed = append(allowed, method)
		}
	}
	return allowed
}
