package testsite

import (
	"encoding/json"
	"net/http"
)

// maxControlBody bounds a request to the control port, in bytes.
const maxControlBody = 16 << 10

// controlHandler serves the control port: GET /report and POST /NAME for each switch. It answers only requests for its
// own address that no page of another origin made, since any page in a browser on this machine can reach it.
func (s *Site) controlHandler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /report", func(w http.ResponseWriter, _ *http.Request) {
		writeJSON(w, http.StatusOK, s.Report())
	})
	for _, row := range switches {
		mux.HandleFunc("POST /"+row.name, func(w http.ResponseWriter, r *http.Request) {
			r.Body = http.MaxBytesReader(w, r.Body, maxControlBody)
			if err := r.ParseForm(); err != nil {
				http.Error(w, "the form can't be read", http.StatusBadRequest)
				return
			}
			if err := row.set(s, r.Form); err != nil {
				http.Error(w, err.Error(), http.StatusBadRequest)
				return
			}
			w.WriteHeader(http.StatusNoContent)
		})
	}
	own := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Host != s.control {
			http.Error(w, "not this host", http.StatusMisdirectedRequest)
			return
		}
		mux.ServeHTTP(w, r)
	})
	return http.NewCrossOriginProtection().Handler(own)
}

// writeJSON answers with a JSON value that nobody may store.
func writeJSON(w http.ResponseWriter, status int, value any) {
	data, err := json.Marshal(value)
	if err != nil {
		http.Error(w, "internal error", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	_, _ = w.Write(append(data, '\n'))
}
