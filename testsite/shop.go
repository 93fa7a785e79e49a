package testsite

import (
	"encoding/json"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"
)

// The guarded kinds of action.
const (
	kindExchange   = "exchange"
	kindAddress    = "address"
	kindMembership = "membership"
	kindGift       = "gift"
)

// prefixOf gives the prefix of the kind's operation IDs, and "" for what is no kind.
func prefixOf(kind string) string {
	switch kind {
	case kindExchange:
		return "exc_"
	case kindAddress:
		return "adr_"
	case kindMembership:
		return "mem_"
	case kindGift:
		return "gft_"
	}
	return ""
}

// The sample order and membership. Every visitor sees the same ones.
const (
	orderID      = "ord_7Hk2"
	itemID       = "itm_4Qa"
	itemSKU      = "stormline-jacket"
	itemSize     = "M"
	membershipID = "mbr_8Kd3"
	currency     = "USD"
	payment      = "card used for the order"
	giftPrice    = 500 // cents
)

// product is one thing on the shelf.
type product struct {
	SKU, Name, Image, Line, Text string
	Cents                        int
	Sizes                        bool
}

// Price is the price as a page shows it.
func (p product) Price() string { return dollars(p.Cents) }

// Difference is what an exchange of the sample item for this product costs, as the form shows it.
func (p product) Difference() string {
	if d := p.Cents - catalogue[0].Cents; d > 0 {
		return "+ " + dollars(d)
	}
	return "no extra cost"
}

// catalogue is the shelf. The first is the sample order's item; the first three can be exchanged for each other.
var catalogue = []product{
	{"stormline-jacket", "Stormline Jacket", "jacket.svg", "Three-layer rain shell", "The shell we started with: three layers, taped seams and a hood that turns with your head. Repairable, and made to be repaired.", 14900, true},
	{"stormline-insulated", "Stormline Insulated Jacket", "insulated.svg", "Rain shell with a warm core", "The same shell with recycled insulation quilted into the body and sleeves. For wet days that are also cold ones.", 21900, true},
	{"stormline-alpine", "Stormline Alpine Jacket", "alpine.svg", "Reinforced for rock and ice", "Heavier face fabric, reinforced shoulders and a two-way zip that works around a harness.", 26900, true},
	{"ridge-pack-32", "Ridge Pack 32", "pack.svg", "32 litres for a long day", "A frame sheet you forget about, a lid that opens with gloves on, and room for a rope.", 12900, false},
	{"creek-boots", "Creek Boots", "boots.svg", "Leather boots, resoleable", "One piece of leather, a stitched welt and a sole that any cobbler can replace.", 16400, true},
	{"basecamp-lamp", "Basecamp Lamp", "lamp.svg", "Warm light, 60 hours", "A lamp for the tent and the kitchen drawer. Charges from anything, and stands on its own.", 3900, false},
}

// exchangeable are the products the sample item can be exchanged for.
func exchangeable() []product { return catalogue[:3] }

// sizes are the sizes of jackets.
func sizes() []string { return []string{"S", "M", "L", "XL"} }

func productOf(sku string) (product, bool) {
	for _, p := range catalogue {
		if p.SKU == sku {
			return p, true
		}
	}
	return product{}, false
}

// deliveryAddress is where orders go.
type deliveryAddress struct{ Street, City, PostalCode string }

// account is what changed for one visitor. Agents' Users have one each; everybody else shares one.
type account struct {
	Exchanged  string // what the item was exchanged for
	Address    deliveryAddress
	EndsOn     string // the membership's last day, once it was cancelled
	GiftWrap   string // the gift's message
	GiftWanted bool
}

// shop is the shop's state. It is safe for concurrent use.
type shop struct {
	ends string // last day of the paid membership year, RFC 3339 date

	mu       sync.Mutex
	prices   map[string]int // cents that replaced the ordinary amount, by kind
	accounts map[owner]account
}

// open makes the shop's dates, from the day it opens.
func (s *shop) open(now time.Time) {
	s.ends = time.Date(now.Year(), now.Month()+5, 0, 0, 0, 0, 0, time.UTC).Format(time.DateOnly)
	s.prices = map[string]int{}
	s.accounts = map[owner]account{}
}

func (s *shop) account(o owner) account {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.accountLocked(o)
}

// shopper gives whose things an owner sees: an account's, whichever agent signed in to it, or a guest's own.
func shopper(o owner) owner {
	if o.account != "" {
		return owner{account: o.account}
	}
	return o
}

func (s *shop) accountLocked(o owner) account {
	o = shopper(o)
	if a, found := s.accounts[o]; found {
		return a
	}
	return account{Address: deliveryAddress{"14 Alder Lane", "Portland", "97214"}}
}

// setPrice makes an amount hold for the kind.
func (s *shop) setPrice(kind, amount string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c, ok := cents(amount); ok {
		s.prices[kind] = c
	}
}

// price gives the amount that holds for the kind now.
func (s *shop) price(kind string, ordinary int) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c, found := s.prices[kind]; found {
		return c
	}
	return ordinary
}

// apply makes an action happen.
func (s *shop) apply(o owner, a ask) {
	s.mu.Lock()
	defer s.mu.Unlock()
	o = shopper(o)
	account := s.accountLocked(o)
	switch a.kind {
	case kindExchange:
		account.Exchanged = variant(a.values.Get("replacement_sku"), a.values.Get("size"))
	case kindAddress:
		account.Address = deliveryAddress{a.values.Get("street"), a.values.Get("city"), a.values.Get("postal_code")}
	case kindMembership:
		account.EndsOn = s.ends
	case kindGift:
		account.GiftWrap, account.GiftWanted = a.values.Get("message"), true
	}
	s.accounts[o] = account
}

// The asks of the four guarded actions.

func exchangeAsk(sku, size string) ask {
	return ask{kindExchange, orderID + "/" + itemID, url.Values{"replacement_sku": {sku}, "size": {size}}}
}

func addressAsk(d deliveryAddress) ask {
	return ask{kindAddress, "delivery", url.Values{"street": {d.Street}, "city": {d.City}, "postal_code": {d.PostalCode}}}
}

func membershipAsk() ask { return ask{kindMembership, membershipID, url.Values{}} }

func giftAsk(message string) ask {
	return ask{kindGift, orderID, url.Values{"message": {message}}}
}

// money is an amount in terms.
type money struct {
	Amount   string `json:"amount"`
	Currency string `json:"currency"`
}

// The terms of the four guarded actions: everything that affects them, said again in the summary.
type (
	exchangeTerms struct {
		OrderID         string `json:"order_id"`
		ItemID          string `json:"item_id"`
		Item            string `json:"item"`
		ReplacementSKU  string `json:"replacement_sku"`
		Replacement     string `json:"replacement"`
		PriceDifference money  `json:"price_difference"`
		Payment         string `json:"payment,omitempty"`
	}
	addressTerms struct {
		Street     string `json:"street"`
		City       string `json:"city"`
		PostalCode string `json:"postal_code"`
		AppliesTo  string `json:"applies_to"`
	}
	membershipTerms struct {
		MembershipID string `json:"membership_id"`
		Plan         string `json:"plan"`
		EndsOn       string `json:"ends_on"`
		Refund       money  `json:"refund"`
	}
	giftTerms struct {
		OrderID string `json:"order_id"`
		Item    string `json:"item"`
		Message string `json:"message"`
		Price   money  `json:"price"`
		Payment string `json:"payment"`
	}
)

// quote gives the terms of an ask as they are now. Equal asks at equal prices give equal bytes.
func (s *shop) quote(a ask) offer {
	item := variant(itemSKU, itemSize)
	switch a.kind {
	case kindExchange:
		sku, size := a.values.Get("replacement_sku"), a.values.Get("size")
		replacement, _ := productOf(sku)
		difference := s.price(kindExchange, replacement.Cents-catalogue[0].Cents)
		terms := exchangeTerms{
			OrderID: orderID, ItemID: itemID, Item: item, ReplacementSKU: sku + "-" + strings.ToLower(size),
			Replacement: variant(sku, size), PriceDifference: amount(difference),
		}
		cost := "for $0.00 more"
		if difference > 0 {
			terms.Payment = payment
			cost = fmt.Sprintf("for %s more, charged to the %s", dollars(difference), payment)
		}
		return offerOf(terms, "Exchange the %s on order %s for the %s, %s.", item, orderID, terms.Replacement, cost)
	case kindAddress:
		d := addressTerms{a.values.Get("street"), a.values.Get("city"), a.values.Get("postal_code"), "all future orders"}
		return offerOf(d, "Change your delivery address to %s, %s %s, for %s.", d.Street, d.City, d.PostalCode, d.AppliesTo)
	case kindMembership:
		t := membershipTerms{membershipID, "Trail Club yearly", s.ends, amount(0)}
		return offerOf(t, "Cancel the %s membership %s. It ends on %s, member prices end with it, and $%s is refunded.", t.Plan, t.MembershipID, t.EndsOn, t.Refund.Amount)
	case kindGift:
		t := giftTerms{orderID, item, a.values.Get("message"), amount(s.price(kindGift, giftPrice)), payment}
		return offerOf(t, "Gift-wrap the %s on order %s with the message “%s”, for $%s, charged to the %s.", t.Item, t.OrderID, t.Message, t.Price.Amount, t.Payment)
	}
	return offer{terms: json.RawMessage(`{}`)}
}

// offerOf writes out terms and their summary.
func offerOf(terms any, format string, args ...any) offer {
	data, err := json.Marshal(terms)
	if err != nil {
		data = json.RawMessage(`{}`) // plain structs of strings always marshal
	}
	return offer{summary: fmt.Sprintf(format, args...), terms: data}
}

// variant names a product in a size: "Stormline Jacket (M)".
func variant(sku, size string) string {
	p, found := productOf(sku)
	if !found || size == "" {
		return p.Name
	}
	return p.Name + " (" + size + ")"
}

func amount(c int) money { return money{fmt.Sprintf("%d.%02d", c/100, c%100), currency} }

func dollars(c int) string { return "$" + amount(c).Amount }

// cents reads an amount such as "80.00".
func cents(amount string) (int, bool) {
	whole, part, found := strings.Cut(amount, ".")
	if !found || len(part) != 2 || len(whole) == 0 || len(whole) > 6 || !onlyDigits(whole+part) {
		return 0, false
	}
	c, err := strconv.Atoi(whole + part)
	return c, err == nil
}

func onlyDigits(s string) bool {
	return strings.Trim(s, "0123456789") == ""
}
