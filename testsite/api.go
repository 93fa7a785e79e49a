package testsite

import (
	"net/http"

	"github.com/papaver-agent/papaver/testsite/authserver"
)

// apiPath is where the API is, below the shop's origin.
const apiPath = "/api"

// apiOrder is an order as the API says it.
type apiOrder struct {
	OrderID   string `json:"order_id"`
	ItemID    string `json:"item_id"`
	Item      string `json:"item"`
	Status    string `json:"status"`
	Total     money  `json:"total"`
	Exchanged string `json:"exchanged_for,omitempty"`
}

func (s *Site) apiOrders(a account) []apiOrder {
	return []apiOrder{{
		OrderID: orderID, ItemID: itemID, Item: variant(itemSKU, itemSize), Status: "delivered",
		Total: amount(catalogue[0].Cents), Exchanged: a.Exchanged,
	}}
}

// apiHandler answers the API: orders with poppy:read, the delivery address with the Company's own scope.
func (s *Site) apiHandler() *http.ServeMux {
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+apiPath+"/openapi.json", s.openAPI)
	mux.HandleFunc("GET "+apiPath+"/orders", s.api(authserver.ScopeRead, func(w http.ResponseWriter, _ *http.Request, a account) {
		writeJSON(w, http.StatusOK, struct {
			Orders []apiOrder `json:"orders"`
		}{s.apiOrders(a)})
	}))
	mux.HandleFunc("GET "+apiPath+"/orders/{id}", s.api(authserver.ScopeRead, func(w http.ResponseWriter, r *http.Request, a account) {
		if r.PathValue("id") != orderID {
			writeJSON(w, http.StatusNotFound, errorBody{Error: "not_found"})
			return
		}
		writeJSON(w, http.StatusOK, s.apiOrders(a)[0])
	}))
	mux.HandleFunc("GET "+apiPath+"/address", s.api(authserver.ScopeAddresses, func(w http.ResponseWriter, _ *http.Request, a account) {
		writeJSON(w, http.StatusOK, addressTerms{a.Address.Street, a.Address.City, a.Address.PostalCode, "all future orders"})
	}))
	mux.HandleFunc("GET "+apiPath+"/products", s.apiProducts)
	mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) {
		writeJSON(w, http.StatusNotFound, errorBody{Error: "not_found"})
	})
	return mux
}

// api answers a request that needs the account and a scope.
func (s *Site) api(scope string, answer func(http.ResponseWriter, *http.Request, account)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		who, denial := s.caller(w, r)
		if denial != nil {
			denial.Write(w)
			return
		}
		if s.limited(w, who.Client) {
			return
		}
		switch {
		case !who.SignedIn():
			s.auth.SignInRequired(scope).Write(w)
		case !who.Has(scope):
			s.auth.InsufficientScope(scope).Write(w)
		default:
			answer(w, r, s.shop.account(owner{client: who.Client, user: who.User, account: who.Account}))
		}
	}
}

// apiProducts is what a Session can see signed out.
func (s *Site) apiProducts(w http.ResponseWriter, r *http.Request) {
	who, denial := s.caller(w, r)
	if denial != nil {
		denial.Write(w)
		return
	}
	if s.limited(w, who.Client) {
		return
	}
	type apiProduct struct {
		SKU   string `json:"sku"`
		Name  string `json:"name"`
		Price money  `json:"price"`
	}
	var list []apiProduct
	for _, p := range catalogue {
		list = append(list, apiProduct{p.SKU, p.Name, amount(p.Cents)})
	}
	writeJSON(w, http.StatusOK, struct {
		Products []apiProduct `json:"products"`
	}{list})
}

// caller verifies the credentials of an API's request: a Session Token with its proof in the drafts; in 1.0 the Session
// header, and the access token beside it if there is one.
func (s *Site) caller(w http.ResponseWriter, r *http.Request) (authserver.Access, *authserver.Denial) {
	if s.profile.SessionTokens {
		return s.auth.Access(w, r, false)
	}
	c, access, denial := s.credentials(r)
	if denial != nil {
		return authserver.Access{}, denial
	}
	access.Client, access.User, access.Agent, access.Session = c.owner.client, c.owner.user, c.agent, c.sid
	return access, nil
}

// openAPI is the API's description. It needs no credentials.
func (s *Site) openAPI(w http.ResponseWriter, r *http.Request) {
	type operation struct {
		Summary string `json:"summary"`
	}
	type path map[string]operation
	s.serveDocument(w, r, map[string]any{
		"openapi": "3.1.0",
		"info":    map[string]string{"title": companyName, "version": "1"},
		"servers": []map[string]string{{"url": s.shopOrigin()}},
		"paths": map[string]path{
			apiPath + "/orders":            {"get": {"List orders (poppy:read)"}},
			apiPath + "/orders/{order_id}": {"get": {"One order (poppy:read)"}},
			apiPath + "/address":           {"get": {"The delivery address (addresses)"}},
			apiPath + "/products":          {"get": {"What the shop sells (no sign-in)"}},
		},
	})
}
