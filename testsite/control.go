package testsite

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"

	"github.com/papaver-agent/papaver/testsite/wire"
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
			values, err := controlValues(w, r)
			if err == nil {
				err = row.set(s, values)
			}
			if err != nil {
				writeJSON(w, http.StatusBadRequest, errorBody{Error: err.Error()})
				return
			}
			w.WriteHeader(http.StatusNoContent)
		})
	}
	for name, does := range s.acts() {
		mux.HandleFunc("POST /"+name, func(w http.ResponseWriter, r *http.Request) {
			values, err := controlValues(w, r)
			var answer any
			if err == nil {
				answer, err = does(r, values)
			}
			if err != nil {
				writeJSON(w, http.StatusBadRequest, errorBody{Error: err.Error()})
				return
			}
			if answer == nil {
				answer = struct{}{}
			}
			writeJSON(w, http.StatusOK, answer)
		})
	}
	mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) {
		writeJSON(w, http.StatusNotFound, errorBody{Error: "unknown_control"})
	})
	own := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Host != s.control {
			http.Error(w, "not this host", http.StatusMisdirectedRequest)
			return
		}
		mux.ServeHTTP(w, r)
	})
	return http.NewCrossOriginProtection().Handler(own)
}

// controlValues reads what a request to the control port gives: a form, or a JSON object whose members are texts, numbers,
// booleans, or lists of texts.
func controlValues(w http.ResponseWriter, r *http.Request) (url.Values, error) {
	r.Body = http.MaxBytesReader(w, r.Body, maxControlBody)
	if media, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || media != "application/json" {
		if err := r.ParseForm(); err != nil {
			return nil, errors.New("the form can't be read")
		}
		return r.Form, nil
	}
	data, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, errors.New("the request is too large")
	}
	values := r.URL.Query()
	if len(bytes.TrimSpace(data)) == 0 {
		return values, nil
	}
	m, err := wire.Members(data)
	if err != nil {
		return nil, err
	}
	for name, raw := range m {
		var value any
		if err := json.Unmarshal(raw, &value); err != nil {
			return nil, err
		}
		switch value := value.(type) {
		case nil:
		case []any:
			values[name] = []string{}
			for _, each := range value {
				values.Add(name, fmt.Sprint(each))
			}
		default:
			if text, ok := wire.Text(m, name); ok {
				values.Set(name, text)
			} else {
				values.Set(name, string(raw))
			}
		}
	}
	return values, nil
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
