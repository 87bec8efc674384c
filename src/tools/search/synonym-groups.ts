/**
 * Words that mean nearly the same when people ask for tools. A word of a line has all other words of the line as synonyms.
 * With a `>` only the words before it have synonyms: those after it. A word may stand in several lines, and a hyphen joins
 * two words that are one expression. They are words of everyday speech and of software in general.
 */
export const SYNONYM_GROUPS = `
get list show find fetch retrieve read view display see look query lookup
search find query lookup filter
create add make new insert post open start register set
add append put insert attach invite
delete remove destroy drop erase clear discard trash purge
remove revoke kick expel ban evict dismiss uninstall detach
update edit change modify set patch replace rename adjust alter correct fix
send post tell notify write deliver share publish announce dispatch
start run trigger launch dispatch begin execute invoke
stop cancel end abort terminate halt kill interrupt
cancel delete end
enable activate allow turn
disable deactivate deny block turn suspend
restart rerun again retry redo redeliver reboot
download export save get fetch
upload import put attach file
share permission grant access invite
allow permit grant permission authorize
copy duplicate clone fork
close resolve finish complete
finish complete transition status
move transition transfer
schedule later plan
save store keep create
undo revert restore rollback recover
lock protect freeze
count number many total quantity
history log timeline past audit activity event
like star favorite save bookmark
star stargazer
person people user member colleague someone human teammate employee participant
colleague collaborator member
sign register registrant join
team group
customer client buyer account
company organization organisation org business enterprise
repository repo project
pull-request pr merge-request
approve review accept
comment reply remark feedback note
thumb reaction emoji like smiley
issue ticket bug task problem story
assign give assignee owner
hour time worklog
watch follow subscribe monitor
duplicate link relation
screenshot attachment image picture photo
build workflow pipeline ci action
hand manual manually dispatch
branch ref reference
file document doc content path
folder directory
message mail email text sms
appointment event meeting
video meeting conference
diary calendar
free freebusy availability available busy
reply responder response respond answer
vacation holiday out-of-office away absence
chat message conversation
channel conversation room
last recent latest lately
lately recent history
song track music
listen play player
next skip
next upcoming future
singer artist band musician
photo image picture avatar
money payment balance amount fund
money-back refund
refund reimburse reversal
bill invoice
chargeback dispute
discount coupon promotion
pay-out payout withdraw
bank-account external-account
price cost fee
phone call ring dial
password secret credential token key
vulnerability alert security advisory
dependency package library
machine node server instance vm host
setting config configuration preference option
permission role access right
login session auth authenticate
website site page web
webhook hook
date day calendar
boss manager supervisor > user member
guest outsider external visitor > guest external collaborator participant
friend contact acquaintance > contact user
everybody everyone anyone > member user
owner creator author
admin administrator
profile account user
nickname alias name
teammate coworker peer > user member collaborator
verify check confirm validate
logout log-out > session revoke invalidate
biggest largest top best > sort top
newest latest recent
oldest first > list
popular top trending > top popular star
amount sum total balance
usage consumption used > usage
room space storage > storage quota
size bytes > size
statistics stat metric analytics report insight
summary overview report > summary report get
hand pass > assign transfer
forbid prohibit ban > block restrict deny
hide archive minimize
rename name title
merge combine join
connect link attach integrate
disconnect unlink detach
leave exit quit
accept approve confirm
decline reject deny refuse
mark label flag set
unread read mark > label modify message unread
trash bin garbage > trash
print pdf export
convert export transform > export
generate create
renew extend refresh
pay charge payment
buy purchase order > create buy purchase
sell > product price
owe unpaid overdue outstanding due > invoice unpaid open
receipt invoice > invoice receipt
quote offer estimate > quote
voucher coupon gift
sale discount > coupon promotion discount
shopper purchaser payer consumer > customer
merchant seller vendor > account
debit card charge
contest dispute
transfer move send
wire transfer payout bank
basket cart checkout
shipping delivery parcel > shipping
stock inventory product
goods item product > product
upgrade downgrade > update plan subscription
milestone deadline due
deadline due date
status state
relate relation link connect
priority urgent importance severity
assignable assignee assign
field column attribute property
template blueprint
vote poll
survey poll question
code source file content
contributor author committer
line diff position
branch head
release publish version
deploy deployment release rollout
ship release deploy
green pass passing success > check status combined
cve vulnerability advisory
notification alert inbox > notification thread
pod container workload
cluster namespace kubernetes
app application deployment > deployment app
copies replica scale > replica scale
crash restart fail error
output log stdout
cron schedule cronjob
role binding rbac
account service
drain evict eviction cordon
health status ready
direct dm private > direct message conversation im
announcement message post
group usergroup
thread reply
workspace team
upload share file
call meeting
webinar seminar
absent absentee miss
came attended joined > participant attendee report
inbox mailbox > message thread
reschedule postpone > event update move
slot free freebusy
booking appointment reservation event
share sharing acl permission
writer editor reader viewer > permission role acl
previous earlier old > revision version history
spreadsheet sheet doc slide presentation
drive disk storage
voicemail voice mail
hotline phone-number
queue line wait
recording audio
spend cost usage price
tune song track
louder quieter loudness > volume
pause stop
similar related recommendation
key feature audio
genre style
weather forecast
map location geocode
address location street
distance route
flight trip travel
hotel room booking
currency exchange rate
news article headline
article post page
blog post article
lead prospect contact
survey form response
employee staff worker
salary payroll wage
leave absence vacation
shift schedule roster
candidate applicant
table record row
database query sql table
record entry row
snapshot backup image
bucket storage
dns domain record
certificate ssl tls
network vpc subnet
incident outage alert
metric monitor measure
dashboard chart graph
ship shipment delivery
track tracking shipment
return refund
review rating
category group type
schedule > create insert event
share > permission access-control sharing
leaked leak exposed > secret-scanning alert secret
vulnerability vulnerable > alert advisory dependabot
`;
