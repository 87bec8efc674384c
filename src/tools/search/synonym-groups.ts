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
protect protection rule
count number many total quantity
history log timeline past audit activity event
like star favorite save bookmark
star stargazer
person people user member colleague someone human teammate employee participant
colleague collaborator member
attend participant attendee attended
sign register registrant join
team group
customer client buyer account
company organization organisation org business enterprise
repository repo project
pull-request pr merge-request
pull-request pull
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
job task run
hand manual manually dispatch
branch ref reference
tag ref
commit revision change
file document doc content path
folder directory
document doc file spreadsheet sheet
message mail email text sms
appointment event meeting
video meeting conference
diary calendar
free freebusy availability available busy
reply responder response respond answer
vacation holiday out-of-office away absence
chat message conversation
channel conversation room
say message history
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
earning payout balance
bank-account external-account
subscription plan subscribe
monthly subscription
price cost fee
phone call ring dial
leak secret expose
password secret credential token key
vulnerability alert security advisory
dependency package library
error failure problem
fail failed failure
scale replica resize
machine node server instance vm host
hang stuck
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
signature sign
identity verification kyc
verify check confirm validate
permission scope
locale language
timezone time zone
online status presence active availability > presence status
logged session login
logout log-out > session revoke invalidate
username login name
biggest largest top best > sort top
newest latest recent
oldest first > list
popular top trending > top popular star
amount sum total balance
usage consumption used > usage
quota limit capacity
room space storage > storage quota
size bytes > size
statistics stat metric analytics report insight
traffic visit view clone referrer
visitor visit look > view traffic
summary overview report > summary report get
give grant assign
hand pass > assign transfer
forbid prohibit ban > block restrict deny
limit restrict restriction
hide archive minimize
unhide unarchive restore
reopen open
rename name title
merge combine join
split separate
connect link attach integrate
disconnect unlink detach
pin unpin > pin
mute silence snooze > snooze mute dnd
quiet disturb interrupt snooze dnd
unsubscribe subscription
leave exit quit
join enter
accept approve confirm
decline reject deny refuse
react reaction
mention tag label
label tag category
mark label flag set
unread read mark > label modify message unread
forward redirect > forwarding forward
draft unsent > draft
spam junk > spam
trash bin garbage > trash
print pdf export
convert export transform > export
turn convert > export
translate convert
generate create
compute calculate
renew extend refresh
expire expiration
rotate renew reset
reset restore
pay charge payment
buy purchase order > create buy purchase
sell > product price
rent subscription
owe unpaid overdue outstanding due > invoice unpaid open
receipt invoice > invoice receipt
quote offer estimate > quote
tax vat > tax
voucher coupon gift
sale discount > coupon promotion discount
shopper purchaser payer consumer > customer
merchant seller vendor > account
credit-card card
debit card charge
fraud risk radar
proof evidence dispute
contest dispute
transfer move send
wire transfer payout bank
basket cart checkout
cart checkout session
shipping delivery parcel > shipping
stock inventory product
goods item product > product
recurring monthly weekly yearly > subscription recurring price plan
membership subscription member
trial subscription
upgrade downgrade > update plan subscription
epic story subtask > issue
milestone deadline due
deadline due date
subtask child
sprint iteration > sprint milestone
board dashboard project
status state
progress status transition
history changelog
log worklog record
effort hour spent > worklog time
blocker block dependency
relate relation link connect
priority urgent importance severity
reporter author creator
assignable assignee assign
component module
field column attribute property
template blueprint
vote poll
survey poll question
filter jql query
code source file content
commit change diff
diff compare change
contributor author committer
blame author commit
inline line review
line diff position
readme document
licence license
branch head
default main
release publish version
asset binary artifact
artifact build output
runner machine agent
environment deployment
deploy deployment release rollout
ship release deploy
green pass passing success > check status combined
red broken failing > check status
check status suite
secret variable
env environment variable
variable env config
ssh key
gpg key signature
scan scanning alert
cve vulnerability advisory
gist snippet paste
wiki page
notification alert inbox > notification thread
topic subject keyword tag
pod container workload
cluster namespace kubernetes
app application deployment > deployment app
copies replica scale > replica scale
instances replica scale > replica scale
crash restart fail error
output log stdout
cron schedule cronjob
job batch
volume disk storage > persistent volume
disk volume
ingress route rule
load balancer service
role binding rbac
account service
drain evict eviction cordon
label annotation
daemon daemonset
quota resourcequota limit
health status ready
certificate csr signing
autoscale autoscaler hpa
direct dm private > direct message conversation im
ephemeral private visible
announcement message post
group usergroup
channel topic
thread reply
workspace team
bot app
app application
emoji smiley sticker
upload share file
call meeting
online video virtual > meeting
webinar seminar
attendance participant attendee > participant report attendee
absent absentee miss
host organizer owner
transcript transcription caption
watch recording view
waiting lobby
passcode password
panelist speaker presenter > panelist
came attended joined > participant attendee report
invite invitation invitee
lesson class course > meeting webinar
screen display
inbox mailbox > message thread
mailbox mail message
attachment file
subject header
newsletter mail
autoreply vacation responder
automatically automatic auto
delegate delegation
alias send-as
reschedule postpone > event update move
postpone delay > update
slot free freebusy
booking appointment reservation event
birthday anniversary event
invitee attendee
public-holiday holiday > calendar event
acl access sharing
share sharing acl permission
writer editor reader viewer > permission role acl
revision version history
previous earlier old > revision version history
spreadsheet sheet doc slide presentation
drive disk storage
folder parent
quota storage
mms media message
voicemail voice mail
caller call
number phone
hotline phone-number
toll free
conference participant
queue line wait
speak say voice
recording audio
spend cost usage price
spent cost usage
delivered delivery status
tune song track
album record
playlist list
louder quieter loudness > volume
pause stop
shuffle random
repeat loop
similar related recommendation
recommend recommendation suggestion
suggest recommendation suggestion
tempo feature audio analysis
key feature audio
genre style
podcast show episode
book audiobook
device speaker
liked saved library favorite
heard played listened > recently played
weather forecast
translate translation
map location geocode
address location street
place location
nearby near location
route direction
distance route
flight trip travel
hotel room booking
currency exchange rate
rate limit
news article headline
article post page
blog post article
tweet post status
lead prospect contact
deal opportunity
pipeline stage
campaign marketing
survey form response
form submission
employee staff worker
salary payroll wage
leave absence vacation
shift schedule roster
candidate applicant
table record row
database query sql table
record entry row
snapshot backup image
restore backup
bucket storage
object file blob
dns domain record
domain host
certificate ssl tls
firewall rule
ip address
network vpc subnet
alert alarm incident
incident outage alert
oncall on-call schedule
metric monitor measure
dashboard chart graph
trace span
feature flag toggle
experiment test
test check
order purchase
ship shipment delivery
track tracking shipment
return refund
review rating
rating score star
product item article
category group type
brand vendor
schedule > create insert event
share > permission access-control sharing
online offline > presence active
loud quiet loudness volume
leaked leak exposed > secret-scanning alert secret
vulnerability vulnerable > alert advisory dependabot
duplicate identical > link duplicate
transition workflow status
`;
