package operation

import "encoding/json"

// MarshalJSON returns the operation in the specification's own form, as Decode reads it, for our ledger
// and between our own processes. Members nobody knows are left out; the zero value is null. Strings may
// be escaped otherwise than they were sent, which neither their meaning nor the terms' hash notices.
func (o Operation) MarshalJSON() ([]byte, error) {
	if o.ID == "" && o.Revision == "" && o.Terms.raw == nil {
		return []byte("null"), nil
	}
	form := struct {
		ID        string  `json:"operation_id"`
		Revision  string  `json:"revision"`
		Summary   *string `json:"summary,omitempty"`
		Terms     Terms   `json:"terms"`
		ExpiresAt string  `json:"expires_at"`
	}{ID: o.ID, Revision: o.Revision, Terms: o.Terms, ExpiresAt: o.ExpiresAtSent}
	if o.HasSummary {
		form.Summary = &o.Summary
	}
	return json.Marshal(form)
}

// UnmarshalJSON reads what MarshalJSON wrote, as strictly as [Decode] reads what a Company sent. null is
// the zero value.
func (o *Operation) UnmarshalJSON(data []byte) error {
	if string(data) == "null" {
		*o = Operation{}
		return nil
	}
	decoded, err := Decode(data)
	if err != nil {
		return err
	}
	*o = decoded
	return nil
}
