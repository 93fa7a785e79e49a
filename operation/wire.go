package operation

import "encoding/json"

// MarshalJSON writes the operation in the specification's own form, for our ledger and for our own processes.
func (o Operation) MarshalJSON() ([]byte, error) {
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

// UnmarshalJSON reads what MarshalJSON wrote, as strictly as [Decode] reads what a Company sent.
func (o *Operation) UnmarshalJSON(data []byte) error {
	decoded, err := Decode(data)
	if err != nil {
		return err
	}
	*o = decoded
	return nil
}
